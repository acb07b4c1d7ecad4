import Commands
import Host
import TestSupport
import Testing

@testable import Membership

@Suite struct CoordinatorEpochTests {
    private let now = Timestamp(milliseconds: 1_772_368_496_000)

    @Test func `the epoch grows with time, and also where the clock was set back`() throws {
        let place = try TemporaryDirectory("incarnation")
        defer { place.remove() }
        let first = try CoordinatorEpoch.next(in: RunDirectory(path: place.path), now: now)
        #expect(first == now.milliseconds)
        let earlier = now + .seconds(-3600)
        #expect(try CoordinatorEpoch.next(in: RunDirectory(path: place.path), now: earlier) == first + 1)
        #expect(try CoordinatorEpoch.next(in: RunDirectory(path: place.path), now: earlier) == first + 2)
        let later = now + .seconds(60)
        #expect(try CoordinatorEpoch.next(in: RunDirectory(path: place.path), now: later) == later.milliseconds)
    }

    @Test(arguments: ["", "x", "99999999999999999999", "9223372036854775807\n"])
    func `the epoch starts from the clock where its file is not valid`(_ text: String) throws {
        let place = try TemporaryDirectory("incarnation")
        defer { place.remove() }
        _ = try place.file("coordinator.incarnation", Array(text.utf8))
        let first = try CoordinatorEpoch.next(in: RunDirectory(path: place.path), now: now)
        #expect(first >= now.milliseconds)
        let second = try CoordinatorEpoch.next(in: RunDirectory(path: place.path), now: now)
        #expect(second > first || first == .max)
    }
}

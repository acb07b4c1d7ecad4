import Commands
import TestSupport
import Testing

@testable import Coordination

@Suite struct WallClockTests {
    private static let second: Int64 = 1_000_000_000

    @Test func `a clock set back an hour is noticed once`() {
        var clock = WallClock()
        let start = Timestamp(milliseconds: 10_000_000)
        #expect(value(clock.jump(wall: start, monotonic: 0)) == nil)
        #expect(value(clock.jump(wall: start + .seconds(1), monotonic: Self.second)) == nil)
        let back = start + .seconds(2 - 3600)
        #expect(value(clock.jump(wall: back, monotonic: 2 * Self.second)) == .seconds(-3600))
        #expect(value(clock.jump(wall: back + .seconds(1), monotonic: 3 * Self.second)) == nil)
    }

    @Test func `small steps are no jump`() {
        var clock = WallClock()
        _ = clock.jump(wall: Timestamp(milliseconds: 0), monotonic: 0)
        #expect(value(clock.jump(wall: Timestamp(milliseconds: 2900), monotonic: Self.second)) == nil)
    }

    @Test func `a jump between two coordinators of one boot is noticed by the second`() throws {
        let place = try TemporaryDirectory("clock")
        defer { place.remove() }
        #expect(ClockNote.read(in: place.path) == nil)
        var first = WallClock(offset: ClockNote.read(in: place.path))
        let start = Timestamp(milliseconds: 10_000_000)
        #expect(value(first.jump(wall: start, monotonic: 0)) == nil)
        ClockNote.write(try #require(first.offset), in: place.path)
        var second = WallClock(offset: ClockNote.read(in: place.path))
        let back = start + .seconds(60 - 3600)
        #expect(value(second.jump(wall: back, monotonic: 60 * Self.second)) == .seconds(-3600))
        // Of another boot it says nothing.
        _ = try place.file("coordinator.clock", Array("00000000-0000-0000-0000-000000000000 10000000".utf8))
        #expect(ClockNote.read(in: place.path) == nil)
    }
}

import Commands
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
}

import Commands
import Store
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
        #expect(value(clock.jump(wall: back, monotonic: 2 * Self.second))?.by == .seconds(-3600))
        #expect(value(clock.jump(wall: back + .seconds(1), monotonic: 3 * Self.second)) == nil)
    }

    @Test func `a jump forward tells what was written before it from what was written after it`() throws {
        var clock = WallClock()
        let start = Timestamp(milliseconds: 10_000_000)
        _ = clock.jump(wall: start, monotonic: 0)
        let ahead = start + .seconds(2 + 3600)
        let found = clock.jump(wall: ahead, monotonic: 2 * Self.second)
        let jump = try #require(found)
        #expect(jump.by == .seconds(3600))
        let bound = try #require(jump.writtenBefore)
        // Two rows of a second before that look, one by either time.
        #expect(start + .seconds(1) < bound)
        #expect(ahead + .seconds(-1) >= bound)
        // A second one has a bound of its own.
        let next = clock.jump(wall: ahead + .seconds(1 + 60), monotonic: 3 * Self.second)
        let second = try #require(next)
        #expect(second.by == .seconds(60))
        let secondBound = try #require(second.writtenBefore)
        #expect(secondBound > ahead)
        // After a step back nothing tells them apart, and all are moved.
        let third = clock.jump(wall: start, monotonic: 4 * Self.second)
        let back = try #require(third)
        #expect(back.by < .zero)
        #expect(back.writtenBefore == nil)
    }

    @Test func `a jump forward after one back, to times that were there before, moves all`() throws {
        var clock = WallClock()
        let start = Timestamp(milliseconds: 100_000_000)
        func jump(to wall: Timestamp, at seconds: Int64) throws -> WallClock.Jump {
            let found = clock.jump(wall: wall, monotonic: seconds * Self.second)
            return try #require(found)
        }
        _ = clock.jump(wall: start, monotonic: 0)
        #expect(try jump(to: start + .seconds(1 - 3600), at: 1).writtenBefore == nil)
        // What was written before both is later than the middle.
        let forward = try jump(to: start + .seconds(2), at: 2)
        #expect(forward.by == .seconds(3600) && forward.writtenBefore == nil)
        // Far beyond all that was there before it is told apart again.
        let far = try jump(to: start + .seconds(3 + 3600), at: 3)
        let bound = try #require(far.writtenBefore)
        #expect(bound > start + .seconds(3) && bound < start + .seconds(3 + 3600))
    }

    @Test func `small steps are no jump`() {
        var clock = WallClock()
        _ = clock.jump(wall: Timestamp(milliseconds: 0), monotonic: 0)
        #expect(value(clock.jump(wall: Timestamp(milliseconds: 2900), monotonic: Self.second)) == nil)
    }

    @Test func `a jump between two coordinators of one boot is noticed by the second`() throws {
        let place = try TemporaryDirectory("clock")
        defer { place.remove() }
        #expect(ClockRecord.read(in: RunDirectory(path: place.path)) == nil)
        var first = WallClock(offset: ClockRecord.read(in: RunDirectory(path: place.path)))
        let start = Timestamp(milliseconds: 10_000_000)
        #expect(value(first.jump(wall: start, monotonic: 0)) == nil)
        ClockRecord.write(try #require(first.offset), in: RunDirectory(path: place.path))
        var second = WallClock(offset: ClockRecord.read(in: RunDirectory(path: place.path)))
        let back = start + .seconds(60 - 3600)
        #expect(value(second.jump(wall: back, monotonic: 60 * Self.second))?.by == .seconds(-3600))
        // Of another boot it says nothing.
        _ = try place.file("coordinator.clock", Array("00000000-0000-0000-0000-000000000000 10000000".utf8))
        #expect(ClockRecord.read(in: RunDirectory(path: place.path)) == nil)
    }
}

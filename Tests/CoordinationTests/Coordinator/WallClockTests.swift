import Commands
import Host
import Store
import TestSupport
import Testing

@testable import Coordination

@Suite struct WallClockTests {

    @Test func `a clock set back an hour is noticed once`() {
        var clock = WallClock()
        let start = Timestamp(milliseconds: 10_000_000)
        #expect(value(clock.jump(wall: start, monotonic: .zero)) == nil)
        #expect(value(clock.jump(wall: start + .seconds(1), monotonic: after(1))) == nil)
        let back = start + .seconds(2 - 3600)
        #expect(value(clock.jump(wall: back, monotonic: after(2)))?.by == .seconds(-3600))
        #expect(value(clock.jump(wall: back + .seconds(1), monotonic: after(3))) == nil)
    }

    @Test func `a jump forward separates rows that were written before it from later ones`() throws {
        var clock = WallClock()
        let start = Timestamp(milliseconds: 10_000_000)
        _ = clock.jump(wall: start, monotonic: .zero)
        let ahead = start + .seconds(2 + 3600)
        let found = clock.jump(wall: ahead, monotonic: after(2))
        let jump = try #require(found)
        #expect(jump.by == .seconds(3600))
        let bound = try #require(jump.writtenBefore)
        // Two rows of the second before the comparison, one by the old time and one by the new.
        #expect(start + .seconds(1) < bound)
        #expect(ahead + .seconds(-1) >= bound)
        // A second jump has its own bound.
        let next = clock.jump(wall: ahead + .seconds(1 + 60), monotonic: after(3))
        let second = try #require(next)
        #expect(second.by == .seconds(60))
        let secondBound = try #require(second.writtenBefore)
        #expect(secondBound > ahead)
        // After a step back the rows cannot be told apart, and all are moved.
        let third = clock.jump(wall: start, monotonic: after(4))
        let back = try #require(third)
        #expect(back.by < .zero)
        #expect(back.writtenBefore == nil)
    }

    @Test func `a jump forward to times that the clock has shown before moves all rows`() throws {
        var clock = WallClock()
        let start = Timestamp(milliseconds: 100_000_000)
        func jump(to wall: Timestamp, at seconds: Double) throws -> WallClock.Jump {
            let found = clock.jump(wall: wall, monotonic: after(seconds))
            return try #require(found)
        }
        _ = clock.jump(wall: start, monotonic: .zero)
        #expect(try jump(to: start + .seconds(1 - 3600), at: 1).writtenBefore == nil)
        // Rows that were written before both jumps are later than the middle.
        let forward = try jump(to: start + .seconds(2), at: 2)
        #expect(forward.by == .seconds(3600) && forward.writtenBefore == nil)
        // Times that the clock has never shown are told apart again.
        let far = try jump(to: start + .seconds(3 + 3600), at: 3)
        let bound = try #require(far.writtenBefore)
        #expect(bound > start + .seconds(3) && bound < start + .seconds(3 + 3600))
    }

    @Test func `small steps are not a jump`() {
        var clock = WallClock()
        _ = clock.jump(wall: Timestamp(milliseconds: 0), monotonic: .zero)
        #expect(value(clock.jump(wall: Timestamp(milliseconds: 2900), monotonic: after(1))) == nil)
    }

    @Test func `a jump between two coordinators of one boot is noticed by the second`() throws {
        let place = try TemporaryDirectory("clock")
        defer { place.remove() }
        #expect(ClockRecord.read(in: RunDirectory(path: place.path)) == nil)
        var first = WallClock(offset: ClockRecord.read(in: RunDirectory(path: place.path)))
        let start = Timestamp(milliseconds: 10_000_000)
        #expect(value(first.jump(wall: start, monotonic: .zero)) == nil)
        ClockRecord.write(try #require(first.offset), in: RunDirectory(path: place.path))
        var second = WallClock(offset: ClockRecord.read(in: RunDirectory(path: place.path)))
        let back = start + .seconds(60 - 3600)
        #expect(value(second.jump(wall: back, monotonic: after(60)))?.by == .seconds(-3600))
        // A record of another boot does not apply.
        _ = try place.file("coordinator.clock", Array("00000000-0000-0000-0000-000000000000 10000000".utf8))
        #expect(ClockRecord.read(in: RunDirectory(path: place.path)) == nil)
    }
}

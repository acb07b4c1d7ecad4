import Commands
import Host
import Testing

@testable import Store

struct ReadyMarksTests {
    private static let start = MonotonicTime.zero + .seconds(1000)
    private static let key = ReadyKey(destination: .none, qos: .default)
    private static let other = ReadyKey(destination: Destination(scheme: "https", host: "a", port: 443), qos: .utility)

    /// A look that finds the first turns of keys.
    private static func look(
        _ marks: inout ReadyMarks, _ found: [ReadyKey: Int64], newest: Int64, after time: Duration = .zero
    ) -> ReadyRanges {
        var ranges = ReadyRanges()
        let look = marks.begin(0, &ranges, now: start + time)
        marks.end(look, found: found, newest: newest, now: start + time)
        return ranges
    }

    @Test func `the first look begins at the head, and later ones behind what it has found`() {
        var marks = ReadyMarks()
        let first = Self.look(&marks, [Self.key: 10], newest: 20)
        #expect(first.plain.shards.isEmpty && first.destinations.newest == [-1])
        let second = Self.look(&marks, [Self.key: 15], newest: 30, after: .seconds(5))
        #expect(second.plain.qos.count == QualityOfService.allCases.count)
        #expect(second.plain.marks[Self.key.qos.rawValue] == 9)
        #expect(second.destinations.newest == [20, 20] && second.destinations.first == ["", ""])
        #expect(marks.start(of: Self.key, in: 0) == 14)
        // It had no command.
        #expect(marks.start(of: Self.other, in: 0) == 30)
    }

    @Test func `a key without commands is looked up behind the newest transition`() {
        var marks = ReadyMarks()
        _ = Self.look(&marks, [Self.key: 10], newest: 20)
        _ = Self.look(&marks, [:], newest: 30, after: .seconds(5))
        #expect(marks.start(of: Self.key, in: 0) == 30)
    }

    @Test func `a command that becomes ready out of turn lowers the mark of its key`() {
        var marks = ReadyMarks()
        _ = Self.look(&marks, [Self.key: 10], newest: 20)
        marks.lower(0, Self.key, 3)
        marks.lower(0, Self.other, 5)
        #expect(marks.start(of: Self.key, in: 0) == 2)
        #expect(marks.start(of: Self.other, in: 0) == 4)
        let next = Self.look(&marks, [Self.key: 3, Self.other: 5], newest: 20, after: .seconds(5))
        #expect(next.plain.destinations.contains(Self.other.destination.text))
    }

    @Test func `a look raises no mark that was lowered while it ran`() {
        var marks = ReadyMarks()
        _ = Self.look(&marks, [Self.key: 10], newest: 20)
        var ranges = ReadyRanges()
        let look = marks.begin(0, &ranges, now: Self.start)
        marks.lower(0, Self.key, 3)
        marks.end(look, found: [Self.key: 10], newest: 25, now: Self.start)
        #expect(marks.start(of: Self.key, in: 0) == 2)
    }

    @Test func `the first look learns nothing where a command became ready while it ran`() {
        var marks = ReadyMarks()
        var ranges = ReadyRanges()
        let look = marks.begin(0, &ranges, now: Self.start)
        marks.lower(0, Self.key, 3)
        marks.end(look, found: [:], newest: 25, now: Self.start)
        #expect(marks.start(of: Self.key, in: 0) == 0)
    }

    @Test func `a minute after the last one, a look begins at the head`() {
        var marks = ReadyMarks()
        _ = Self.look(&marks, [Self.key: 10], newest: 20)
        let later = Self.look(&marks, [Self.key: 10], newest: 20, after: .seconds(60))
        #expect(later.destinations.newest == [-1])
    }

    @Test func `the gaps lie between the destinations in the order of bytes`() {
        var ranges = ReadyRanges()
        let z = ReadyKey(destination: Destination(unchecked: "z"), qos: .default)
        let umlaut = ReadyKey(destination: Destination(unchecked: "ä"), qos: .default)
        let limited = ReadyKey(destination: Destination(unchecked: "z"), qos: .default, limit: "limit")
        ranges.add(0, [umlaut: 1, z: 2, limited: 3], newest: 5)
        #expect(ranges.destinations.first == ["", "z", "ä"] && ranges.destinations.last == ["z", "ä", "\u{10FFFF}"])
        #expect(ranges.limitedDestinations.limits == ["limit", "limit"])
        #expect(ranges.limits.first == ["", "limit"] && ranges.limited.marks.contains(3))
    }
}

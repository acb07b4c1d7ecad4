import TestSupport

/// A list on a server that inserts, deletes and moves rows while its pages are read.
struct MovingList {
    enum Paging: String, CaseIterable, Sendable {
        case page, offset, cursor
    }

    /// Rows in their order. A key never comes back; the cursor of a page is the rank of its last row.
    private(set) var rows: [(key: Int, rank: Double)]
    private var nextKey: Int
    /// Whether the list stands still.
    var isStill = true

    static let pageSize = 10

    init(rows count: Int) {
        rows = (0..<count).map { ($0, Double($0)) }
        nextKey = count
    }

    var keys: Set<Int> { Set(rows.map(\.key)) }

    /// The rows of a page, the cursor behind it, and the number of all rows.
    struct Page {
        var keys: [Int]
        var cursor: Double?
        var total: Int
    }

    /// Answers one request, before which the list may change.
    mutating func page(_ query: [String: String], _ random: inout SeededRandom) -> Page {
        if !isStill { change(&random) }
        let start: Int
        if let number = query["page"].flatMap({ Int($0) }) {
            start = (number - 1) * Self.pageSize
        } else if let offset = query["offset"].flatMap({ Int($0) }) {
            start = offset
        } else {
            let after = query["after"].flatMap { Double($0) } ?? -.infinity
            start = rows.firstIndex { $0.rank > after } ?? rows.count
        }
        let slice = rows.dropFirst(start).prefix(Self.pageSize)
        let isLast = start + slice.count >= rows.count
        return Page(keys: slice.map(\.key), cursor: isLast ? nil : slice.last?.rank, total: rows.count)
    }

    /// Each with the probability ½: a row is inserted, one is deleted, one moves.
    private mutating func change(_ random: inout SeededRandom) {
        if random.chance(0.5) {
            rows.append((nextKey, Self.rank(&random)))
            nextKey += 1
        }
        if random.chance(0.5), rows.count > 60 { rows.remove(at: random.number(in: 0..<rows.count)) }
        if random.chance(0.5) { rows[random.number(in: 0..<rows.count)].rank = Self.rank(&random) }
        rows.sort { $0.rank < $1.rank }
    }

    private static func rank(_ random: inout SeededRandom) -> Double { Double(random.number(in: 0..<100_000)) / 1000 }
}

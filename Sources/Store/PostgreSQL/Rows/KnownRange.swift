/// The first rows of an ordered range that a transaction knows, such as the dependants of a parent.
struct KnownRange<Element> {
    private(set) var rows: [Element] = []
    /// Whether the range has no other rows.
    private(set) var isComplete = true
    private let max: Int
    private let position: (Element) -> Int64

    /// - Parameter max: rows that were asked for: as many may have more behind them.
    init(max: Int, position: @escaping (Element) -> Int64) {
        self.max = max
        self.position = position
    }

    /// Adds the next row of a read.
    mutating func know(_ row: Element) {
        rows.append(row)
        if rows.count >= max { isComplete = false }
    }

    /// Whether it is known which rows there are at a position.
    func knows(_ position: Int64) -> Bool {
        isComplete || rows.last.map { position <= self.position($0) } ?? false
    }

    /// The rows behind a position, at most `limit`; nil where they are not all known.
    func rows(after position: Int64, limit: Int) -> [Element]? {
        let found = rows.drop { self.position($0) <= position }.prefix(limit)
        return isComplete || found.count == limit ? Array(found) : nil
    }

    mutating func remove(_ position: Int64) -> Bool {
        guard let index = rows.firstIndex(where: { self.position($0) == position }) else { return false }
        rows.remove(at: index)
        return true
    }

    /// Replaces the row at the position of this one, or inserts it.
    mutating func save(_ row: Element) {
        let place = position(row)
        guard knows(place) else { return }
        _ = remove(place)
        rows.insert(row, at: rows.firstIndex { position($0) > place } ?? rows.count)
    }
}

/// The last turns of an ordered range that a transaction knows, such as the waiters of a key. New turns come behind them.
struct KnownTail {
    /// Ascending.
    private var turns: [Int64]
    /// Whether the range has no others.
    private let isWhole: Bool

    /// - Parameter last: of the range; nil where the range is empty.
    init(last: Int64?) {
        turns = last.map { [$0] } ?? []
        isWhole = last == nil
    }

    private func knows(_ turn: Int64) -> Bool { isWhole || turns.first.map { $0 <= turn } ?? false }

    mutating func insert(_ turn: Int64) {
        guard knows(turn) else { return }
        let place = turns.lastIndex { $0 <= turn }
        if place.map({ turns[$0] == turn }) ?? false { return }
        turns.insert(turn, at: place.map { $0 + 1 } ?? 0)
    }

    mutating func remove(_ turn: Int64) { turns.removeAll { $0 == turn } }

    /// Nil where it is not known.
    func contains(_ turn: Int64) -> Bool? { knows(turn) ? turns.last { $0 <= turn } == turn : nil }

    /// The nearest turn before another one, nil where there is none; `.none` where it is not known.
    func nearest(before turn: Int64) -> Int64?? {
        if let found = turns.last(where: { $0 < turn }) { return .some(found) }
        return isWhole ? .some(nil) : .none
    }

    /// Nil where they are not all known.
    func turns(after first: Int64, before end: Int64, limit: Int) -> [Int64]? {
        guard isWhole else { return nil }
        return Array(turns.lazy.filter { $0 > first && $0 < end }.prefix(limit))
    }
}

internal import Commands
internal import Store

/// Where to read on in what is ready in the store: for each shard, destination and quality. Pure.
///
/// What has been read to its end has no cursor; a sweep or a command that had to leave memory makes one. Of a backlog that
/// nobody can run only the length is remembered, so that sweeps read behind it, and once a minute all of it.
struct BacklogCursors: Sendable {
    /// What is read in the order of turns.
    struct Source: Hashable {
        var shard: Int
        var key: ReadyKey
    }

    private struct Cursor: Sendable {
        var afterTurn: Int64 = 0
        var isReading = false
        /// Rows to read at a time, where the last were such that nobody can run.
        var stride = 0
        /// Everything from the start was such.
        var isBarren = false
    }

    /// Up to where nobody can run anything, and when that was read.
    private struct Barren: Sendable {
        var upTo: Int64
        var since: Int64
    }

    /// A source that may be read now.
    struct Opening {
        var source: Source
        var afterTurn: Int64
        /// Rows at least.
        var stride: Int
    }

    private var cursors: [Source: Cursor] = [:]
    /// Shards in which each key has a cursor.
    private var shards: [ReadyKey: Set<Int>] = [:]
    /// Sources to be looked at, because they are new, have moved, or memory holds less of them.
    private var open: Set<Source> = []
    /// The same, of destinations that do not answer: they are looked at when nothing else is to be read.
    private var postponed: Set<Source> = []
    private var reading = 0
    private var barren: [Source: Barren] = [:]

    /// What nobody can run is read again so often, in case something else has come to stand among it.
    static let barrenTimeout: Int64 = 60_000_000_000
    /// Rows to read at a time of what nobody can run.
    private static let longestStride = 4096
    private static let maxReading = 64

    // MARK: What is to be read

    /// Something can be run that nobody could: what was passed over is read again.
    mutating func forgetBarren() {
        barren = [:]
        for (source, cursor) in cursors where cursor.isBarren { remove(source) }
    }

    /// Nothing of these shards is read any more.
    mutating func remove(shards: Set<Int>) {
        for source in cursors.keys where shards.contains(source.shard) { remove(source) }
    }

    /// Memory holds less of the key.
    mutating func lowered(_ key: ReadyKey) {
        guard let shards = shards[key] else { return }
        for shard in shards { open.insert(Source(shard: shard, key: key)) }
    }

    /// Something passed over stands there.
    func hasBarren(in shard: Int) -> Bool { barren.keys.contains { $0.shard == shard } }

    private mutating func set(_ source: Source, _ cursor: Cursor) {
        if cursors.updateValue(cursor, forKey: source) == nil { shards[source.key, default: []].insert(source.shard) }
        open.insert(source)
    }

    private mutating func remove(_ source: Source) {
        guard cursors.removeValue(forKey: source) != nil else { return }
        open.remove(source)
        postponed.remove(source)
        shards[source.key]?.remove(source.shard)
        if shards[source.key]?.isEmpty == true { shards[source.key] = nil }
    }

    /// A sweep found these keys in a shard: each is read from its oldest, or from behind what no worker can run.
    /// - Parameter isFailing: whether a destination does not answer.
    mutating func found(
        _ keys: Set<ReadyKey>, shard: Int, isFailing: (Destination) -> Bool = { _ in false }, now: Int64
    ) {
        barren = barren.filter { source, barren in
            if source.shard != shard { return true }
            let isRecent = keys.contains(source.key) && now - barren.since <= Self.barrenTimeout
            // The minute begins with a reading from the start.
            if !isRecent { cursors[source]?.isBarren = false }
            return isRecent
        }
        for key in keys {
            let source = Source(shard: shard, key: key)
            if cursors[source] == nil {
                set(source, Cursor(afterTurn: barren[source]?.upTo ?? 0, isBarren: true))
                if isFailing(source.key.destination) {
                    open.remove(source)
                    postponed.insert(source)
                }
            }
        }
    }

    /// A command has left memory for a better one, and is read again in its turn.
    mutating func left(_ command: ReadyCommand, shard: Int) {
        let source = Source(shard: shard, key: ReadyKey(destination: command.destination, qos: command.qos))
        if barren[source]?.upTo ?? 0 >= command.turn { barren[source] = nil }
        readAgain(source, from: command.turn)
    }

    /// Lets a source be read from a turn on, also where it is being read further on at this moment.
    private mutating func readAgain(_ source: Source, from turn: Int64) {
        let before = max(turn - 1, 0)
        var cursor = cursors[source] ?? Cursor(afterTurn: .max)
        guard before < cursor.afterTurn else { return }
        cursor.afterTurn = before
        cursor.isBarren = false
        set(source, cursor)
    }

    // MARK: Reading

    var hasOpenings: Bool { !open.isEmpty || !postponed.isEmpty }

    /// A source to be looked at. One that is not read now comes up again by ``lowered(_:)``. Nil where there is none, or where
    /// so many are being read that what hints tell of would wait behind them.
    mutating func takeOpening() -> Opening? {
        while reading < Self.maxReading, let source = open.popFirst() ?? postponed.popFirst() {
            guard let cursor = cursors[source], !cursor.isReading else { continue }
            return Opening(source: source, afterTurn: cursor.afterTurn, stride: cursor.stride)
        }
        return nil
    }

    /// It is being read.
    mutating func begin(_ source: Source) {
        cursors[source]?.isReading = true
        reading += 1
    }

    /// It was read from a turn on.
    /// - Parameters:
    ///   - rows: what was found, in the order of turns.
    ///   - barren: how many of them, from the first on, nobody can run.
    ///   - through: the last turn that has a place in memory, or needs none.
    ///   - isRefused: what comes behind it found no place.
    ///   - isEnd: nothing comes behind the rows.
    mutating func end(
        _ source: Source, afterTurn: Int64, rows: [ReadyCommand], barren count: Int, through: Int64?, isRefused: Bool,
        isEnd: Bool, now: Int64
    ) {
        reading -= 1
        guard var cursor = cursors[source] else { return }
        cursor.isReading = false
        // Moved while it was read: the rows are as good as any, but say nothing of where to go on.
        let wasMoved = cursor.afterTurn != afterTurn
        cursor.stride = count < rows.count ? 0 : min(2 * count, Self.longestStride)
        if cursor.isBarren {
            cursor.isBarren = count == rows.count
            if let last = rows.prefix(count).last {
                barren[source] = Barren(upTo: last.turn, since: barren[source]?.since ?? now)
            }
        }
        if !wasMoved { cursor.afterTurn = max(cursor.afterTurn, through ?? 0) }
        if isEnd && !isRefused && !wasMoved { remove(source) } else { set(source, cursor) }
    }

    /// It could not be read; the sweep will try again.
    mutating func fail(_ source: Source) {
        reading -= 1
        remove(source)
    }
}

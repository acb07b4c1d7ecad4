internal import Commands
internal import Host
internal import Store

/// Where to continue reading the ready commands in the store: for each shard, destination and quality of
/// service. Pure.
///
/// A source that has been read to its end has no cursor; a sweep, or a command that had to leave memory,
/// makes one. Of a backlog that no worker can run only the length is remembered, so that sweeps read behind
/// it, and all of it once a minute.
struct BacklogCursors: Sendable {
    /// Commands that are read in the order of turns.
    struct Source: Hashable {
        var shard: Int
        var key: ReadyKey
    }

    private struct Cursor: Sendable {
        var afterTurn: Int64 = 0
        var isReading = false
        /// Rows to read at a time, where no worker can run the last ones.
        var stride = 0
        /// No worker can run any command from the start to here.
        var isUnrunnable = false
    }

    /// The commands at the start of a source that no worker can run.
    private struct Unrunnable: Sendable {
        var upTo: Int64
        /// When they were read.
        var since: MonotonicTime
    }

    /// A source that may be read now.
    struct Opening {
        var source: Source
        var afterTurn: Int64
        /// Rows to read at least.
        var stride: Int
    }

    /// The result of reading a source.
    struct Reading {
        /// The turn behind which it was read.
        var afterTurn: Int64
        /// In the order of turns.
        var rows: [ReadyCommand]
        /// Rows at the start that no worker can run.
        var unrunnable: Int
        /// The last turn that is in memory, or need not be.
        var through: Int64?
        /// Memory was full for the next turn.
        var isRefused: Bool
        /// No command comes behind the rows.
        var isEnd: Bool
    }

    /// Which sources that a sweep has found are read first.
    enum Urgency: CaseIterable {
        /// Of high QoS, without a destination, or of a destination that answers.
        case first
        /// Of a destination of which nothing is known.
        case second
        /// Of a destination that does not answer.
        case last
    }

    private var cursors: [Source: Cursor] = [:]
    /// Shards in which each key has a cursor.
    private var shards: [ReadyKey: Set<Int>] = [:]
    /// Sources to be looked at, because they are new, have moved, or memory holds less of them.
    private var open: Set<Source> = []
    /// The same of other destinations, by urgency: they are looked at when no source before them is to be read. A new
    /// coordinator beside 20,000 destinations reads them for seconds, and must not begin with dead ones.
    private var postponed: [Urgency: Set<Source>] = [:]
    private var reading = 0
    private var unrunnable: [Source: Unrunnable] = [:]

    /// Commands that no worker can run are read again after this time, in case another command is among them
    /// now.
    static let unrunnableTimeout: Duration = .seconds(60)
    /// Rows to read at a time of what no worker can run.
    private static let maxStride = 4096
    /// Sources that are read at a time. More would delay the commands that hints tell of.
    private static let maxReading = 64

    // MARK: Sources

    /// Workers can run a new type: commands that were passed over are read again.
    mutating func rereadUnrunnable() {
        unrunnable = [:]
        for (source, cursor) in cursors where cursor.isUnrunnable { remove(source) }
    }

    /// These shards are not read any more.
    mutating func remove(shards: Set<Int>) {
        for source in cursors.keys where shards.contains(source.shard) { remove(source) }
    }

    /// Memory holds less of the key.
    mutating func lowered(_ key: ReadyKey) {
        guard let shards = shards[key] else { return }
        for shard in shards { open.insert(Source(shard: shard, key: key)) }
    }

    /// Commands of the shard were passed over.
    func hasUnrunnable(in shard: Int) -> Bool { unrunnable.keys.contains { $0.shard == shard } }

    private mutating func set(_ source: Source, _ cursor: Cursor) {
        if cursors.updateValue(cursor, forKey: source) == nil { shards[source.key, default: []].insert(source.shard) }
        open.insert(source)
    }

    private mutating func remove(_ source: Source) {
        guard cursors.removeValue(forKey: source) != nil else { return }
        open.remove(source)
        for urgency in postponed.keys { postponed[urgency]?.remove(source) }
        shards[source.key]?.remove(source.shard)
        if shards[source.key]?.isEmpty == true { shards[source.key] = nil }
    }

    /// A sweep found ready commands of these keys in a shard: each is read from its oldest, or from behind
    /// the commands that no worker can run.
    mutating func found(
        _ keys: Set<ReadyKey>, shard: Int, urgency: (ReadyKey) -> Urgency = { _ in .first }, now: MonotonicTime
    ) {
        unrunnable = unrunnable.filter { source, unrunnable in
            if source.shard != shard { return true }
            let isRecent = keys.contains(source.key) && now - unrunnable.since <= Self.unrunnableTimeout
            // The minute begins with a reading from the start.
            if !isRecent { cursors[source]?.isUnrunnable = false }
            return isRecent
        }
        for key in keys {
            let source = Source(shard: shard, key: key)
            if cursors[source] == nil {
                set(source, Cursor(afterTurn: unrunnable[source]?.upTo ?? 0, isUnrunnable: true))
                let urgency = urgency(key)
                guard urgency != .first else { continue }
                open.remove(source)
                postponed[urgency, default: []].insert(source)
            }
        }
    }

    /// A command has left memory for a better one, and is read again in its turn.
    mutating func left(_ command: ReadyCommand, shard: Int) {
        let source = Source(shard: shard, key: ReadyKey(command))
        if unrunnable[source]?.upTo ?? 0 >= command.turn { unrunnable[source] = nil }
        readAgain(source, from: command.turn)
    }

    /// Lets a source be read from a turn on, also where it is being read further on at this moment.
    private mutating func readAgain(_ source: Source, from turn: Int64) {
        let before = max(turn - 1, 0)
        var cursor = cursors[source] ?? Cursor(afterTurn: .max)
        guard before < cursor.afterTurn else { return }
        cursor.afterTurn = before
        cursor.isUnrunnable = false
        set(source, cursor)
    }

    // MARK: Reading

    var hasOpenings: Bool { !open.isEmpty || postponed.contains { !$0.value.isEmpty } }

    /// A source to be looked at. One that is not read now comes up again by ``lowered(_:)``. Nil where there
    /// is none, or where ``maxReading`` are being read.
    mutating func takeOpening() -> Opening? {
        while reading < Self.maxReading,
            let source = open.popFirst() ?? postponed[.second]?.popFirst() ?? postponed[.last]?.popFirst()
        {
            guard let cursor = cursors[source], !cursor.isReading else { continue }
            return Opening(source: source, afterTurn: cursor.afterTurn, stride: cursor.stride)
        }
        return nil
    }

    /// The source is being read.
    mutating func begin(_ source: Source) {
        cursors[source]?.isReading = true
        reading += 1
    }

    /// The source was read.
    mutating func end(_ source: Source, _ read: Reading, now: MonotonicTime) {
        reading -= 1
        guard var cursor = cursors[source] else { return }
        cursor.isReading = false
        // A cursor that was moved meanwhile stays where it is: the rows are good, but do not say where to
        // continue.
        let wasMoved = cursor.afterTurn != read.afterTurn
        cursor.stride = read.unrunnable < read.rows.count ? 0 : min(2 * read.unrunnable, Self.maxStride)
        if cursor.isUnrunnable {
            cursor.isUnrunnable = read.unrunnable == read.rows.count
            if let last = read.rows.prefix(read.unrunnable).last {
                unrunnable[source] = Unrunnable(upTo: last.turn, since: unrunnable[source]?.since ?? now)
            }
        }
        if !wasMoved { cursor.afterTurn = max(cursor.afterTurn, read.through ?? 0) }
        if read.isEnd && !read.isRefused && !wasMoved { remove(source) } else { set(source, cursor) }
    }

    /// The source could not be read; the sweep will try again.
    mutating func fail(_ source: Source) {
        reading -= 1
        remove(source)
    }
}

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

    /// By key and shard.
    private var cursors: [ReadyKey: [Int: Cursor]] = [:]
    /// Keys to be looked at, because a source of theirs is new or has moved, or memory holds less of them.
    private var open: Set<ReadyKey> = []
    /// The same of other destinations, by urgency: they are looked at when no key before them is to be read. A new
    /// coordinator beside 20,000 destinations reads them for seconds, and must not begin with dead ones.
    private var postponed: [Urgency: Set<ReadyKey>] = [:]
    private var reading = 0
    private var unrunnable: [Source: Unrunnable] = [:]

    /// Commands that no worker can run are read again after this time, in case another command is among them
    /// now.
    static let unrunnableTimeout: Duration = .seconds(60)
    /// Rows to read at a time of what no worker can run.
    private static let maxStride = 4096
    /// Sources that are read at a time. More would delay the commands that hints tell of.
    private static let maxReading = 64
    /// Commands of a source that memory is to hold at least, because each read takes time too.
    private static let minShare = 4

    // MARK: Sources

    private subscript(source: Source) -> Cursor? {
        get { cursors[source.key]?[source.shard] }
        set {
            cursors[source.key, default: [:]][source.shard] = newValue
            if cursors[source.key]?.isEmpty == true { cursors[source.key] = nil }
        }
    }

    /// Workers can run a new type: commands that were passed over are read again.
    mutating func rereadUnrunnable() {
        unrunnable = [:]
        for key in Array(cursors.keys) {
            for (shard, cursor) in cursors[key] ?? [:] where cursor.isUnrunnable {
                self[Source(shard: shard, key: key)] = nil
            }
        }
    }

    /// These shards are not read any more.
    mutating func remove(shards: Set<Int>) {
        for key in Array(cursors.keys) {
            for shard in shards { self[Source(shard: shard, key: key)] = nil }
        }
    }

    /// Memory holds less of the key.
    mutating func lowered(_ key: ReadyKey) { if cursors[key] != nil { open.insert(key) } }

    /// Commands of the shard were passed over.
    func hasUnrunnable(in shard: Int) -> Bool { unrunnable.keys.contains { $0.shard == shard } }

    private mutating func set(_ source: Source, _ cursor: Cursor) {
        self[source] = cursor
        open.insert(source.key)
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
            if !isRecent { self[source]?.isUnrunnable = false }
            return isRecent
        }
        for key in keys {
            let source = Source(shard: shard, key: key)
            guard self[source] == nil else { continue }
            self[source] = Cursor(afterTurn: unrunnable[source]?.upTo ?? 0, isUnrunnable: true)
            let urgency = urgency(key)
            if urgency == .first { open.insert(key) } else { postponed[urgency, default: []].insert(key) }
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
        var cursor = self[source] ?? Cursor(afterTurn: .max)
        guard before < cursor.afterTurn else { return }
        cursor.afterTurn = before
        cursor.isUnrunnable = false
        set(source, cursor)
    }

    // MARK: Reading

    /// A key to be looked at, which comes up again by ``lowered(_:)``. Nil where there is none, or where ``maxReading`` sources
    /// are being read.
    mutating func takeKey() -> ReadyKey? {
        guard reading < Self.maxReading else { return nil }
        return open.popFirst() ?? postponed[.second]?.popFirst() ?? postponed[.last]?.popFirst()
    }

    /// The reads of a key to start now. The sources share memory, and one is read when it has used half of its share: each
    /// command is compared with the next ones of all other shards, and few rows are read that memory has no room for.
    /// - Parameters:
    ///   - limit: commands of the key that memory is to hold.
    ///   - counts: commands of the key in memory, by shard.
    mutating func begin(_ key: ReadyKey, limit: Int, counts: [Int]) -> [ReadyRead] {
        guard let sources = cursors[key] else { return [] }
        let share = max(limit / sources.count, Self.minShare)
        var reads: [ReadyRead] = []
        for (shard, cursor) in sources where !cursor.isReading && counts[shard] <= share / 2 {
            guard reading < Self.maxReading else {
                open.insert(key)
                break
            }
            reads.append(
                ReadyRead(
                    shard: shard, key: key, afterTurn: cursor.afterTurn,
                    limit: max(share - counts[shard], cursor.stride)))
            cursors[key]?[shard]?.isReading = true
            reading += 1
        }
        return reads
    }

    /// The source was read.
    mutating func end(_ source: Source, _ read: Reading, now: MonotonicTime) {
        reading -= 1
        guard var cursor = self[source] else { return }
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
        if read.isEnd && !read.isRefused && !wasMoved {
            self[source] = nil
            // The others have its share.
            lowered(source.key)
        } else {
            set(source, cursor)
        }
    }

    /// The source could not be read; the sweep will try again.
    mutating func fail(_ source: Source) {
        reading -= 1
        self[source] = nil
    }
}

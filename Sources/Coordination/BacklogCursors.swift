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
        /// What was read found no place behind better ones.
        var wasRefused = false
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
        var wasRefused: Bool
        /// Rows at least.
        var stride: Int
    }

    private var cursors: [Source: Cursor] = [:]
    private var barren: [Source: Barren] = [:]

    /// What nobody can run is read again so often, in case something else has come to stand among it.
    static let barrenPatience: Int64 = 60_000_000_000
    /// Rows to read at a time of what nobody can run.
    private static let longestStride = 4096

    // MARK: What is to be read

    /// Something can be run that nobody could: what was passed over is read again.
    mutating func forgetBarren() {
        barren = [:]
        cursors = cursors.filter { !$0.value.isBarren }
    }

    /// Nothing of these shards is read any more.
    mutating func remove(shards: Set<Int>) { cursors = cursors.filter { !shards.contains($0.key.shard) } }

    /// A sweep found these keys in a shard: each is read from its oldest, or from behind what nobody can run.
    /// - Parameter due: the first turn of what has become due since; it may stand anywhere.
    mutating func found(_ keys: Set<ReadyKey>, shard: Int, due: Int64?, now: Int64) {
        barren = barren.filter { source, barren in
            if source.shard != shard { return true }
            let isRecent = keys.contains(source.key) && now - barren.since <= Self.barrenPatience
            // The minute begins with a reading from the start.
            if !isRecent { cursors[source]?.isBarren = false }
            return isRecent
        }
        for key in keys {
            let source = Source(shard: shard, key: key)
            if cursors[source] == nil {
                cursors[source] = Cursor(afterTurn: barren[source]?.upTo ?? 0, isBarren: true)
            }
            if let due { readAgain(source, from: due) }
        }
    }

    /// A command has left memory for a better one, and is read again in its turn.
    mutating func left(_ command: ReadyCommand, shard: Int) {
        let source = Source(shard: shard, key: ReadyKey(destination: command.destination, qos: command.qos))
        if barren[source]?.upTo ?? 0 >= command.turn { barren[source] = nil }
        readAgain(source, from: command.turn)
    }

    /// What was put out of memory is older than what was read last.
    mutating func restart(where isMeant: (ReadyKey) -> Bool) {
        barren = barren.filter { !isMeant($0.key.key) }
        for source in cursors.keys where isMeant(source.key) { readAgain(source, from: 0) }
    }

    /// Lets a source be read from a turn on, also where it is being read further on at this moment.
    private mutating func readAgain(_ source: Source, from turn: Int64) {
        let before = max(turn - 1, 0)
        var cursor = cursors[source] ?? Cursor(afterTurn: .max)
        guard before < cursor.afterTurn else { return }
        cursor.afterTurn = before
        cursor.isBarren = false
        cursors[source] = cursor
    }

    // MARK: Reading

    /// Sources that nobody reads at this moment.
    var openings: [Opening] {
        cursors.compactMap { source, cursor in
            cursor.isReading
                ? nil
                : Opening(
                    source: source, afterTurn: cursor.afterTurn, wasRefused: cursor.wasRefused, stride: cursor.stride)
        }
    }

    /// Whether what is read of it is wanted still.
    func contains(_ source: Source) -> Bool { cursors[source] != nil }

    /// It is being read.
    mutating func begin(_ source: Source) {
        cursors[source]?.isReading = true
        cursors[source]?.wasRefused = false
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
        cursor.wasRefused = isRefused
        if !wasMoved { cursor.afterTurn = max(cursor.afterTurn, through ?? 0) }
        cursors[source] = isEnd && !isRefused && !wasMoved ? nil : cursor
    }

    /// It could not be read; the sweep will try again.
    mutating func fail(_ source: Source) { cursors[source] = nil }
}

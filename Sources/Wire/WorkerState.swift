internal import Commands

/// The state of a worker. It is cumulative, so that losing any number of reports loses nothing.
package struct WorkerState: Sendable, Equatable {
    package enum Phase: UInt8, Sendable {
        case ready = 0
        case draining = 1
    }

    package var phase: Phase = .ready
    /// The coordinator epoch whose offers ``seen`` and ``resolved`` count; 0 before the first.
    package var coordinator: Int64 = 0
    /// The highest number of an offer seen. Numbers that were skipped are lost, and count as seen and
    /// resolved.
    package var seen: Int64 = 0
    package var resolved: Int64 = 0
    /// Executions ended since the worker started.
    package var completed: Int64 = 0
    package var executing = 0
    package var free = 0
    package var freeHigh = 0
    /// Raised by the worker's loop.
    package var progress: Int64 = 0
    /// Shards in which it cannot commit, because another process keeps them locked.
    package var locked: Set<Int> = []

    package init() {}

    func write(to writer: inout ByteWriter) {
        writer.append(phase.rawValue)
        writer.uint64(coordinator)
        writer.uint64(seen)
        writer.uint64(resolved)
        writer.uint64(completed)
        writer.uint16(executing)
        writer.uint16(free)
        writer.uint16(freeHigh)
        writer.uint64(progress)
        writer.uint16(locked.count)
        for shard in locked.sorted() { writer.append(UInt8(clamping: shard)) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        guard let phase = Phase(rawValue: try reader.uint8("phase")) else { throw WireError(.badValue, "phase") }
        self.phase = phase
        coordinator = try reader.count64("coordinator")
        seen = try reader.count64("seen")
        resolved = try reader.count64("resolved")
        completed = try reader.count64("completed")
        executing = try reader.uint16("executing")
        free = try reader.uint16("free")
        freeHigh = try reader.uint16("free high")
        progress = try reader.count64("progress")
        for _ in 0..<(try reader.uint16("locked")) { locked.insert(Int(try reader.uint8("locked shard"))) }
    }
}

/// How long a worker's commits take. It is a message of its own, because release 0.1.0 drops a `state` that has grown, and
/// kills a worker whose states it cannot read.
package struct CommitTime: Sendable, Equatable {
    /// From the request of a claim to its commit, smoothed; whole microseconds, at most an hour.
    package var duration: Duration

    package init(_ duration: Duration) { self.duration = duration }

    func write(to writer: inout ByteWriter) {
        let (seconds, attoseconds) = duration.components
        writer.uint32(seconds >= 3600 ? 3_600_000_000 : Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000))
    }

    init(from reader: inout ByteReader) throws(WireError) {
        let microseconds = try reader.uint32("commit time")
        guard microseconds <= 3_600_000_000 else { throw WireError(.badValue, "commit time") }
        duration = .microseconds(Int64(microseconds))
    }
}

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

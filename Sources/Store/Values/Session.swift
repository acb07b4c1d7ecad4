/// A worker in a seat. Its row says that the worker has not been reaped yet.
package struct Session: Sendable, Equatable {
    package var seat: Int
    /// Random, 63 bits: a later worker in the same seat has another one.
    package var epoch: Int64
    package var pid: Int32
    /// Field 22 of /proc/PID/stat: clock ticks since the boot; tells a reused pid from the worker's.
    package var startTime: Int64
    /// Of the machine when the worker started: /proc/sys/kernel/random/boot_id.
    package var bootID: String

    package init(seat: Int, epoch: Int64, pid: Int32, startTime: Int64, bootID: String) {
        self.seat = seat
        self.epoch = epoch
        self.pid = pid
        self.startTime = startTime
        self.bootID = bootID
    }
}

/// The sessions of the shards that could be read.
package struct SessionReading: Sendable, Equatable {
    /// By seat, each once.
    package let sessions: [Session]
    /// Nil where a shard is unusable: a dead worker that was reaped in the others may have its session, and commands, there.
    package let complete: CompleteSessions?

    /// - Parameter isComplete: every shard was read.
    package init(_ found: some Sequence<Session>, isComplete: Bool) {
        var sessions: [Session] = []
        // After an interrupted reap some shards have the session and some have not.
        for session in found
        where !sessions.contains(where: { $0.seat == session.seat && $0.epoch == session.epoch }) {
            sessions.append(session)
        }
        self.sessions = sessions.sorted { ($0.seat, $0.epoch) < ($1.seat, $1.epoch) }
        complete = isComplete ? CompleteSessions(all: self.sessions) : nil
    }
}

/// The sessions of all shards: the proof that a worker without one has been reaped everywhere, so that what it left behind
/// may be deleted. Only a ``SessionReading`` makes one.
package struct CompleteSessions: Sendable, Equatable {
    package let all: [Session]

    fileprivate init(all: [Session]) { self.all = all }
}

package import Commands
package import Host

/// A worker as its session, its settings and its claims show it.
package struct WorkerReading: Sendable, Equatable {
    package enum State: String, Sendable {
        case ready
        /// It takes no new command, and ends when its commands have ended.
        case draining
        /// Its control group is frozen, as by `docker pause`: it goes on when it is thawed.
        case frozen
        /// Its session is left, and its process is dead.
        case lost
        /// It lives and makes no progress: ``WorkerReading/stalled`` says more.
        case stalled
    }

    package var seat: Int
    package var pid: Int32
    package var state: State
    package var stalled: StalledProcess?
    /// Slots of middle and low quality of service; nil until the worker has stored the number.
    package var concurrency: Int?
    /// The types that it executes; nil until the worker has stored them.
    package var types: [String]?
    /// It executes fewer types than its configuration has.
    package var isLimited = false
    /// The commands that it has claimed, by shard.
    package var claims: [Int] = []
    /// Its commands, the longest running first; at most 4,096 of each shard.
    package var running: [RunningCommand]

    package init(seat: Int, pid: Int32, state: State, concurrency: Int? = nil, running: [RunningCommand] = []) {
        self.seat = seat
        self.pid = pid
        self.state = state
        self.concurrency = concurrency
        self.running = running
    }

    package var inFlight: Int { claims.reduce(0, +) }

    /// For `--json`; every key is always there.
    package var json: JSONValue {
        .object([
            .init("seat", .integer(Int64(seat))), .init("pid", .integer(Int64(pid))),
            .init("state", .string(state.rawValue)),
            .init("stalledSince", stalled?.since.map { .string($0.description) } ?? .null),
            .init("concurrency", concurrency.map { .integer(Int64($0)) } ?? .null),
            .init("types", types.map { .array($0.map { .string($0) }) } ?? .null),
            .init("inFlight", .integer(Int64(inFlight))),
            .init("claims", .array(claims.map { .integer(Int64($0)) })),
        ])
    }
}

/// A process that holds its lock and makes no progress: stopped by a signal, paused with its container, or hung.
package struct StalledProcess: Sendable, Equatable {
    /// The role: `coordinator`, `worker 1`, `door`.
    package var name: String
    /// Nil where the process is in another container.
    package var pid: Int32?
    /// Its last sign of life; nil where it left none.
    package var since: Timestamp?
    /// A signal or a debugger has stopped it.
    package var isStopped: Bool

    /// A process that beats four times a second and is silent for this long counts as stalled. `sluice up` and the
    /// coordinator kill their hung processes after the same time.
    private static let timeout: Duration = .seconds(5)

    /// - Parameters:
    ///   - pid: nil where the process is in another container.
    ///   - pulse: its sign of life; nil where it left none.
    /// - Returns: nil for a process that makes progress.
    package init?(_ name: String, pid: Int32?, pulse: LockPulse?, now: MonotonicTime = .now) {
        isStopped = pid.map { ProcessIdentity.isStopped($0) } ?? false
        // A debugger stops a process for moments, so a stop needs a second of silence too.
        let silence = pulse.map { now - $0.beat } ?? .zero
        guard silence > (isStopped ? .seconds(1) : Self.timeout) else { return nil }
        self.name = name
        self.pid = pid
        since = pulse.map { Timestamp(milliseconds: $0.milliseconds) }
    }

    /// `stopped since 2026-11-28T21:04:11.000Z, process 12`
    package var clause: String {
        let time = since.map { " since \($0)" } ?? ""
        let process = pid.map { ", process \($0)" } ?? ", in another container"
        return (isStopped ? "stopped\(time)" : "no sign of life\(time)") + process
    }

    package var remedy: String {
        guard let pid else { return "resume its container, or end it there" }
        return isStopped ? "“kill -CONT \(pid)” lets it go on" : "end it with “kill \(pid)” and start it again"
    }
}

/// A command that a worker executes.
package struct RunningCommand: Sendable, Equatable {
    package var id: CommandID
    package var type: String
    package var qos: QualityOfService
    package var destination: Destination
    /// When its status last changed.
    package var since: Timestamp
    package var progress = CommandProgress()
    /// The file or URL; nil where it is not known.
    package var name: String?

    package init(
        id: CommandID, type: String, qos: QualityOfService, destination: Destination, since: Timestamp,
        progress: CommandProgress = CommandProgress(), name: String? = nil
    ) {
        self.id = id
        self.type = type
        self.qos = qos
        self.destination = destination
        self.since = since
        self.progress = progress
        self.name = name
    }
}

/// How far the transfer of a command is: the body of a `progress/<uuid>` event.
package struct CommandProgress: Sendable, Equatable {
    /// Bytes.
    package var offset: Int64
    /// Bytes; 0 where the size is unknown.
    package var total: Int64
    /// Bytes per second.
    package var rate: Int64
    /// ``offset`` says how much of the file has gone into a checksum.
    package var isVerifying: Bool
    /// The peer has received everything, and its response has been missing for this time; nil in every other phase.
    package var awaitsResponseFor: Duration?

    package init(offset: Int64 = 0, total: Int64 = 0, rate: Int64 = 0, isVerifying: Bool = false) {
        self.isVerifying = isVerifying
        self.offset = offset
        self.total = total
        self.rate = rate
    }

    /// - Returns: nil for a body without an offset.
    package init?(body: JSONValue) {
        guard let offset = body["offset"]?.integer else { return nil }
        self.init(
            offset: offset, total: body["total"]?.integer ?? 0, rate: body["rate"]?.integer ?? 0,
            isVerifying: body["phase"]?.string == "verifying")
        if body["phase"]?.string == "awaitingResponse" {
            awaitsResponseFor = .milliseconds(body["waited"]?.integer ?? 0)
        }
    }
}

package import Commands

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

internal import Door
internal import HTTPTypes
internal import Host
internal import Synchronization

/// The open streams.
final class StreamRegistry: Sendable {
    /// An open stream; it counts until its last reference is gone, also where its response was never begun.
    final class Slot: Sendable {
        let stream: EventStream
        private let registry: StreamRegistry
        private let number: Int

        fileprivate init(_ stream: EventStream, _ registry: StreamRegistry, _ number: Int) {
            self.stream = stream
            self.registry = registry
            self.number = number
        }

        deinit { registry.remove(number) }
    }

    private struct State {
        var next = 0
        var streams: [Int: EventStream] = [:]
        var isShutDown = false
    }

    private struct Credential: Hashable {
        var token: String
        var cookies: [String]
    }

    private let limits: StreamLimits
    private let statistics: LiveStatistics
    private let state = Mutex(State())

    init(_ limits: StreamLimits, _ statistics: LiveStatistics) {
        self.limits = limits
        self.statistics = statistics
    }

    /// - Throws: 429 where there are too many streams; 503 after a shutdown has begun.
    func admit(_ stream: EventStream) throws(Problem) -> Slot {
        let result = state.withLock { state -> Result<(Int, [EventStream]), Problem> in
            guard !state.isShutDown else { return .failure(.stopping) }
            var shares = [StreamShares(of: state.streams, max: limits.maxStreams, maxOfToken: limits.maxStreamsOfToken)]
            if stream.kind == .log {
                let logs = state.streams.filter { $0.value.kind == .log }
                shares.append(StreamShares(of: logs, max: limits.maxLogs, maxOfToken: limits.maxLogsOfToken))
            }
            let verdicts = shares.map { $0.verdict(for: stream.principal.owner) }
            guard !verdicts.contains(.refuse) else { return .failure(.tooManyStreams) }
            let displaced = verdicts.compactMap { verdict in
                if case .displace(let number) = verdict { state.streams.removeValue(forKey: number) } else { nil }
            }
            state.next += 1
            state.streams[state.next] = stream
            return .success((state.next, displaced))
        }
        if case .failure(let problem) = result, problem == .tooManyStreams {
            statistics.change(stream.kind) { $0.refused += 1 }
        }
        let (number, displaced) = try result.get()
        for other in displaced {
            statistics.change(other.kind) { $0.subscribers -= 1 }
            other.end(.dropped(.displaced))
        }
        let slot = Slot(stream, self, number)
        statistics.change(stream.kind) { $0.subscribers += 1 }
        return slot
    }

    private func remove(_ number: Int) {
        guard let stream = state.withLock({ $0.streams.removeValue(forKey: number) }) else { return }
        statistics.change(stream.kind) { $0.subscribers -= 1 }
    }

    private var all: [EventStream] { state.withLock { Array($0.streams.values) } }

    func count(of kind: StreamKind) -> Int { state.withLock { $0.streams.values.count { $0.kind == kind } } }

    func wake(_ kind: StreamKind) { for stream in all where stream.kind == kind { stream.wake() } }

    func check(at now: MonotonicTime) { for stream in all { stream.check(at: now, maxWrite: limits.maxWrite) } }

    /// Ends all streams, and refuses new ones.
    func shutDown() {
        state.withLock { $0.isShutDown = true }
        for stream in all { stream.end(.shutdown) }
    }

    /// Ends the streams whose token or session has ended. Streams of one browser or program are asked for once.
    func checkPermissions(_ isPermitted: (Principal, HTTPFields) async -> Bool) async {
        let streams = Dictionary(grouping: all) { stream in
            Credential(
                token: stream.principal.token,
                cookies: stream.principal.isSession ? stream.fields[values: .cookie] : [])
        }
        for streams in streams.values {
            guard let first = streams.first, await !isPermitted(first.principal, first.fields) else { continue }
            for stream in streams { stream.end(.dropped(.revoked)) }
        }
    }
}

extension Problem {
    static let tooManyStreams = Problem(
        .tooManyRequests, "too-many-streams",
        "The door has its maximum of streams of events, or the token has its share; close one, or try again later.",
        fields: [.retryAfter: "5"])
    static let stopping = Problem(
        .serviceUnavailable, "stopping", "The server is shutting down; connect again in a moment.",
        fields: [.retryAfter: "1"])
}

/// The limits of the streams of a door. Where all clients together have their maximum, a token with fewer streams than
/// another gets one of it, so that no token keeps the others out.
struct StreamLimits: Sendable {
    /// Streams of all clients.
    var maxStreams = 1000
    /// Streams of one token, with its sessions.
    var maxStreamsOfToken = 600
    /// Streams `log` of all clients: each reads the store while it catches up.
    var maxLogs = 64
    /// Streams `log` of one token.
    var maxLogsOfToken = 16
    /// A write that waits longer for its client ends the stream.
    var maxWrite: Duration = .seconds(5)
    /// The send buffer of the kernel, in bytes.
    var sendBuffer = 128 << 10
}

/// Decides whether a token gets one more of the streams of a door. Pure.
struct StreamShares: Sendable {
    enum Verdict: Sendable, Equatable {
        case admit, refuse
        /// Another stream ends, and the new one takes its room.
        case displace(Int)
    }

    /// The owners of the streams by their numbers, which rise.
    private let owners: [Int: String]
    private let max: Int
    private let maxOfToken: Int

    init(_ owners: [Int: String], max: Int, maxOfToken: Int) {
        self.owners = owners
        self.max = max
        self.maxOfToken = maxOfToken
    }

    init(of streams: [Int: EventStream], max: Int, maxOfToken: Int) {
        self.init(streams.mapValues(\.principal.owner), max: max, maxOfToken: maxOfToken)
    }

    /// A token beyond its own share is refused: if its oldest stream ended instead, that client would connect again and end
    /// the next one. Where all have the maximum, the newest stream of the token that has most ends, if that still leaves it
    /// as many as the new stream's token then has; the refusals of the displaced client then hold.
    func verdict(for owner: String) -> Verdict {
        let counts = owners.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        let own = counts[owner] ?? 0
        guard own < maxOfToken else { return .refuse }
        guard owners.count >= max else { return .admit }
        guard let largest = counts.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }), largest.value >= own + 2,
            let newest = owners.filter({ $0.value == largest.key }).keys.max()
        else { return .refuse }
        return .displace(newest)
    }
}

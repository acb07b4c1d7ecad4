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

internal import Commands
internal import HTTPTypes
internal import Host
internal import Logging
internal import Synchronization

/// Counts and logs the changes that a page of another origin may have made a browser send. A page can send thousands, so
/// the log gets a line a minute.
final class OriginRefusals: Sendable {
    private static let interval: Duration = .seconds(60)

    private struct State {
        var logged: MonotonicTime?
        /// Since ``logged``.
        var silent = 0
    }

    private let statistics: DoorStatistics
    private let logger: Logger
    private let state = Mutex(State())

    init(statistics: DoorStatistics, logger: Logger) {
        self.statistics = statistics
        self.logger = logger
    }

    func add(_ request: DoorRequest, _ problem: Problem, now: MonotonicTime = .now) {
        statistics.countBadRequest(problem.type)
        let silent = state.withLock { state -> Int? in
            if let logged = state.logged, now < logged + Self.interval {
                state.silent += 1
                return nil
            }
            defer { state = State(logged: now) }
            return state.silent
        }
        guard let silent else { return }
        logger.notice(
            "A change was refused: it does not come from a page of this server.",
            metadata: [
                "client": "\(request.client)", "origin": "\((request.fields[.origin] ?? "missing").excerpt)",
                "site": "\((request.fields[.secFetchSite] ?? "missing").excerpt)", "method": "\(request.method)",
                "path": "/\(request.path.joined(separator: "/").excerpt)", "request": "\(request.id)",
                "earlier": "\(silent)",
            ])
    }
}

internal import Commands
internal import HTTPClient
internal import Synchronization

/// What this process has seen of each destination. It decides whether a failure is the command's, and when a
/// small request asks before a whole file is sent.
///
/// * Refusals of everything: redirects of all to one other place (a captive portal or a site that moved), a
///   refused credential, no room. Such a refusal is the destination's and no longer the command's.
/// * Answers to other commands. Beside them a 503 is the command's and not the link's.
final class DestinationEvidence: Sendable {
    private struct Refusals {
        /// Commands that were redirected to ``target``, with no other answer between.
        var redirected: Set<CommandID> = []
        var target: Destination?
        /// The last answer refused a command for the destination's own reason.
        var refuses = false
    }

    /// The last answers to two different commands, so that there is always one to another command.
    private struct Answers {
        private var latest: (id: CommandID, at: ContinuousClock.Instant)?
        private var before: ContinuousClock.Instant?

        mutating func add(_ id: CommandID, at: ContinuousClock.Instant) {
            if id != latest?.id { before = latest?.at }
            latest = (id, at)
        }

        func last(besides id: CommandID) -> ContinuousClock.Instant? { id == latest?.id ? before : latest?.at }
    }

    private struct State {
        var refusals: [Destination: Refusals] = [:]
        var answers: [Destination: Answers] = [:]
    }

    /// As many different commands as open the circuit breaker of a link.
    static let commandsToBlame = 3
    /// How long an answer shows that its destination serves other commands.
    static let answerMemory: Duration = .seconds(10)
    static let maxDestinations = 1024

    private let state = Mutex(State())

    /// Takes in why a request of a command failed, and says whose fault it is.
    ///
    /// * A redirect to another host is the command's at first, charged and tried again; to the same host it is
    ///   final. From the third command on that is redirected to the same place it is the destination's.
    /// * A 503 is the link's. It is the command's where the destination answered another command after the
    ///   request began, or in the last ``answerMemory``.
    /// * A reset stays undecided. A destination that restarts cuts all connections, moments after it answered on
    ///   them. Only the executor sees whether those beside this one are cut too.
    /// - Parameters:
    ///   - target: where a redirect leads; nil for anything else.
    ///   - start: when the request began.
    func judge(
        _ failure: CommandFailure, of id: CommandID, at destination: Destination,
        redirectedTo target: Destination? = nil,
        since start: ContinuousClock.Instant, now: ContinuousClock.Instant = .now
    ) -> CommandFailure {
        state.withLock { state in
            var failure = failure
            var refusals = state.refusals[destination] ?? Refusals()
            if let target {
                if target != refusals.target { refusals.redirected = [] }
                refusals.target = target
                refusals.redirected.insert(id)
                let isSameHost = HTTPOrigin(target)?.host == HTTPOrigin(destination)?.host
                failure.fault =
                    refusals.redirected.count >= Self.commandsToBlame ? .destination : isSameHost ? .final : .command
            } else if failure.isAnswer {
                refusals.redirected = []
            }
            switch failure.fault {
            case .destination, .credential: refusals.refuses = true
            // It has not come to an answer of its own.
            case .link, .reset: break
            case .command, .final: refusals.refuses = false
            }
            Self.set(refusals, for: destination, in: &state.refusals)
            // Of the link's failures only a 503 is a push-back.
            if failure.fault == .link, failure.isPushback,
                let last = state.answers[destination]?.last(besides: id), last >= min(start, now - Self.answerMemory)
            {
                failure.fault = .command
                failure.reason += "; \(destination) answers other commands, so this failure is charged"
            }
            return failure
        }
    }

    /// The destination has answered a request that sends something. 503 does not count, and neither does 511,
    /// which comes from a network on the way (RFC 6585, section 6).
    func answered(_ status: Int, to id: CommandID, at destination: Destination, now: ContinuousClock.Instant = .now) {
        guard status != 503, status != 511 else { return }
        state.withLock { state in
            var answers = state.answers[destination] ?? Answers()
            answers.add(id, at: now)
            Self.set(answers, for: destination, in: &state.answers)
        }
    }

    private static func set<Value>(
        _ value: Value, for destination: Destination, in values: inout [Destination: Value]
    ) {
        if values.count >= maxDestinations, values[destination] == nil { values.removeAll(keepingCapacity: true) }
        values[destination] = value
    }

    /// The destination has taken what it was sent.
    func accepted(_ destination: Destination) { state.withLock { $0.refusals[destination] = nil } }

    /// The destination refused the last command for a reason of its own: a small request can tell whether it still does.
    func refuses(_ destination: Destination) -> Bool {
        state.withLock { $0.refusals[destination]?.refuses ?? false }
    }
}

internal import Commands
internal import HTTPClient
internal import Synchronization

/// The recent answers of each destination to this process. They decide whether a failure is the command's,
/// and when a small query precedes a whole file.
///
/// * Refusals of everything: redirects of all commands to one other destination (a captive portal, or a site
///   that moved), a refused credential, no space. Such a refusal is the destination's failure, not the
///   command's.
/// * Answers to other commands. If there are some, a 503 is the command's failure, and charged.
final class DestinationEvidence: Sendable {
    private struct RefusalHistory {
        /// Commands that were redirected to ``target``, without another answer between them.
        var redirected: Set<CommandID> = []
        var target: Destination?
        /// Whether the last answer refused a command for a reason of the destination.
        var refusedLastCommand = false
    }

    /// The last answers to two different commands. So for each command there is one to another command.
    private struct AnswerHistory {
        private var latest: (id: CommandID, at: ContinuousClock.Instant)?
        private var before: ContinuousClock.Instant?

        mutating func add(_ id: CommandID, at: ContinuousClock.Instant) {
            if id != latest?.id { before = latest?.at }
            latest = (id, at)
        }

        func last(notTo id: CommandID) -> ContinuousClock.Instant? { id == latest?.id ? before : latest?.at }
    }

    private struct State {
        var refusals: [Destination: RefusalHistory] = [:]
        var answers: [Destination: AnswerHistory] = [:]
    }

    /// The number of different commands that also opens the circuit breaker of a link.
    static let commandsToBlame = 3
    /// How long an answer shows that its destination serves other commands.
    static let answerMemory: Duration = .seconds(10)
    static let maxDestinations = 1024

    private let state = Mutex(State())

    /// Records the failure of a request and decides whose fault it is.
    ///
    /// * A redirect to another host is the command's fault at first: it is charged and tried again. A
    ///   redirect within the host is final. From the third command on that is redirected to the same target,
    ///   it is the destination's fault.
    /// * A 503 is the command's fault if the destination has answered another command since the request began, or
    ///   within ``answerMemory``. Otherwise it is not charged, and waits as after a failure of the link.
    /// * A reset stays undecided. A destination that restarts resets all connections, moments after it has
    ///   answered on them. Only the executor sees whether the other connections are reset too.
    /// - Parameters:
    ///   - target: the destination of a redirect; nil for other failures.
    ///   - start: when the request began.
    func judge(
        _ failure: CommandFailure, of id: CommandID, at destination: Destination,
        redirectedTo target: Destination? = nil,
        since start: ContinuousClock.Instant, now: ContinuousClock.Instant = .now
    ) -> CommandFailure {
        state.withLock { state in
            var failure = failure
            var refusals = state.refusals[destination] ?? RefusalHistory()
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
            case .destination, .credential: refusals.refusedLastCommand = true
            // The destination itself has not answered.
            case .link, .reset: break
            case .command, .final: refusals.refusedLastCommand = false
            }
            Self.set(refusals, for: destination, in: &state.refusals)
            // Among failures of the link, only a 503 is a push-back.
            if failure.fault == .link, failure.isPushback,
                let last = state.answers[destination]?.last(notTo: id), last >= min(start, now - Self.answerMemory)
            {
                failure.fault = .command
                failure.reason += "; \(destination) answers other commands, so this failure is charged"
            }
            return failure
        }
    }

    /// Records the answer to a request with a body. A 503 does not count. Neither does a 511, which comes
    /// from a network between client and destination (RFC 6585, section 6).
    func recordAnswer(_ status: Int, to id: CommandID, at destination: Destination, now: ContinuousClock.Instant = .now)
    {
        guard status != 503, status != 511 else { return }
        state.withLock { state in
            var answers = state.answers[destination] ?? AnswerHistory()
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

    /// Records that the destination has accepted a file.
    func recordSuccess(at destination: Destination) { state.withLock { $0.refusals[destination] = nil } }

    /// Whether the destination refused the last command for a reason of its own. Then a small query shows
    /// whether it still does.
    func refusedLastCommand(at destination: Destination) -> Bool {
        state.withLock { $0.refusals[destination]?.refusedLastCommand ?? false }
    }
}

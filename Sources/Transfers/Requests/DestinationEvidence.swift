package import Commands
internal import HTTPClient
internal import Synchronization

/// The recent answers of each destination to this process. They decide whether a failure is the command's,
/// and when a small query precedes a whole file.
///
/// * Refusals of everything: redirects of all commands to one other destination (a captive portal, or a site
///   that moved), a refused credential, no space, or equal refusals of commands (``EqualRefusals``). Such a
///   refusal is the destination's failure, not the command's.
/// * Refusals of large files (``LargeFileRefusals``).
/// * Answers to other commands. If there are some, a 503 is the command's failure, and charged.
package final class DestinationEvidence: Sendable {
    private struct RefusalHistory {
        /// Commands that were redirected to ``target``, without another answer between them.
        var redirected: Set<CommandID> = []
        var target: Destination?
        /// Whether the last answer refused a command for a reason of the destination.
        var refusedLastCommand = false
        var equal = EqualRefusals()
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
        var largeFiles: [Destination: LargeFileRefusals] = [:]
        /// When each destination accepted a command last.
        var successes: [Destination: ContinuousClock.Instant] = [:]
    }

    /// The number of different commands that also opens the circuit breaker of a link.
    static let commandsToBlame = 3
    /// How long an answer shows that its destination serves other commands.
    static let answerMemory: Duration = .seconds(10)
    static let maxDestinations = 1024

    private let state = Mutex(State())

    package init() {}

    /// Records the failure of a request and decides whose fault it is.
    ///
    /// * A redirect to another host is the command's fault at first: it is charged and tried again. A
    ///   redirect within the host is final. From the third command on that is redirected to the same target,
    ///   it is the destination's fault.
    /// * A 503 is the command's fault if the destination has answered another command since the request began, or
    ///   within ``answerMemory``. Otherwise it is not charged, and waits as after a failure of the link.
    /// * A reset stays undecided. A destination that restarts resets all connections, moments after it has
    ///   answered on them. Only the executor sees whether the other connections are reset too.
    /// * From the fifth final refusal on that equals those of other commands, with no success in the last hour, it is the
    ///   destination's fault (``EqualRefusals``). A file above the size that was refused waits, uncharged
    ///   (``LargeFileRefusals``).
    /// - Parameters:
    ///   - target: the destination of a redirect; nil for other failures.
    ///   - refusal: the answer to a request that delivers something; nil for others, because a page that is missing is no
    ///     failure of its server.
    ///   - tooLarge: bytes of the file that was refused as too large; nil where the refusal has another reason.
    ///   - start: when the request began.
    package func judge(
        _ failure: CommandFailure, of id: CommandID, at destination: Destination,
        redirectedTo target: Destination? = nil, refusal: EqualRefusals.Answer? = nil, tooLarge: Int64? = nil,
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
            if let tooLarge, failure.fault == .final {
                if let wait = state.largeFiles[destination, default: LargeFileRefusals()].add(
                    id, size: tooLarge, now: now)
                {
                    return Self.heldBack(at: destination, failure.reason, for: wait)
                }
            } else if let refusal, failure.fault == .final,
                let givenUp = refusals.equal.add(refusal, of: id, now: now),
                state.successes[destination].map({ now - $0 >= EqualRefusals.memory }) ?? true
            {
                failure.fault = .destination
                failure.reason += EqualRefusals.advice(destination, givenUp: givenUp)
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
    package func recordAnswer(
        _ status: Int, to id: CommandID, at destination: Destination, now: ContinuousClock.Instant = .now
    ) {
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

    /// Records that the destination has accepted a command.
    /// - Parameter size: bytes of its file.
    package func recordSuccess(at destination: Destination, size: Int64 = 0, now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            state.refusals[destination] = nil
            state.largeFiles[destination]?.accepted(size: size)
            Self.set(now, for: destination, in: &state.successes)
        }
    }

    /// Asks before a file is sent.
    /// - Returns: a failure that is not charged, where the destination refuses files of this size.
    package func objection(toFileOf size: Int64, at destination: Destination, now: ContinuousClock.Instant = .now)
        -> CommandFailure?
    {
        state.withLock { state in
            guard let (wait, limit) = state.largeFiles[destination]?.wait(size: size, now: now) else { return nil }
            return Self.heldBack(at: destination, "the file has \(size) bytes, and \(limit) were too many", for: wait)
        }
    }

    private static func heldBack(at destination: Destination, _ reason: String, for wait: Duration) -> CommandFailure {
        .heldBack(
            reason:
                "\(reason); \(destination) refuses files of this size (413), so that they wait, and one is tried each "
                + "minute. Raise the limit there; files that were given up: “sluice retry --status gaveUp --error 413 "
                + "--destination \(destination)”", for: wait)
    }

    /// Whether the destination refused the last command for a reason of its own. Then a small query shows
    /// whether it still does.
    package func refusedLastCommand(at destination: Destination) -> Bool {
        state.withLock { $0.refusals[destination]?.refusedLastCommand ?? false }
    }
}

/// Final refusals that are equal for every command: a gateway, a login page or a wrong setting answers in place of the
/// destination. Pure.
///
/// A refusal of one command alone is final, because no retry changes it. From the fifth equal one on, to different commands
/// within an hour, with no success between them, it is the destination's failure: the commands wait, uncharged.
package struct EqualRefusals: Sendable {
    /// The compared part of a refusal: the status and the start of the body, or the code of the answer.
    package struct Answer: Sendable, Equatable {
        private let status: Int
        private let start: [UInt8]

        /// - Parameter body: its first 256 bytes are compared.
        package init(_ status: Int, _ body: some Sequence<UInt8>) {
            self.status = status
            start = Array(body.prefix(256))
        }
    }

    static let refusalsToBlame = 5
    /// How long a refusal counts, and a success speaks for the destination.
    static let memory: Duration = .seconds(3600)

    private var answer: Answer?
    /// The oldest first, at most ``refusalsToBlame``.
    private var refused: [(id: CommandID, at: ContinuousClock.Instant)] = []

    /// Takes in a final refusal.
    /// - Returns: the commands that were given up by the same answer before, where it is the destination's failure; nil where
    ///   it is the command's.
    mutating func add(_ answer: Answer, of id: CommandID, now: ContinuousClock.Instant) -> [CommandID]? {
        if answer != self.answer { refused = [] }
        self.answer = answer
        refused.removeAll { now - $0.at >= Self.memory }
        if !refused.contains(where: { $0.id == id }) {
            // The first ones stay, because these are the ones that were given up.
            if refused.count >= Self.refusalsToBlame { refused.removeLast() }
            refused.append((id, now))
        }
        guard refused.count >= Self.refusalsToBlame else { return nil }
        return refused.dropLast().map(\.id)
    }

    /// The text behind the answer in a reason.
    /// - Parameter givenUp: the commands that the same answer has ended.
    static func advice(_ destination: Destination, givenUp: [CommandID]) -> String {
        "; \(destination) refuses every command in this way, so that commands wait until it accepts one. Given up before: "
            + "once it is mended, “sluice retry \(givenUp.map(\.description).joined(separator: " "))”"
    }
}

/// Files that a destination has refused as too large (413). The limit is the file's affair, so only files of that size and
/// above wait once it is known. Pure.
struct LargeFileRefusals: Sendable {
    /// From one file that is tried to the next.
    static let probeInterval: Duration = .seconds(60)

    private var refused: [(id: CommandID, size: Int64, at: ContinuousClock.Instant)] = []
    private var nextProbe: ContinuousClock.Instant?

    /// The smallest size that was refused; nil where too few files were.
    private var limit: Int64? {
        refused.count >= EqualRefusals.refusalsToBlame ? refused.map(\.size).min() : nil
    }

    /// Takes in the refusal of a file.
    /// - Returns: the wait until the file may be tried again, in place of its end; nil where the file is given up.
    mutating func add(_ id: CommandID, size: Int64, now: ContinuousClock.Instant) -> Duration? {
        refused.removeAll { now - $0.at >= EqualRefusals.memory || $0.id == id }
        if refused.count >= EqualRefusals.refusalsToBlame {
            // A smaller file tells more of the limit.
            if let largest = refused.indices.max(by: { refused[$0].size < refused[$1].size }) {
                refused.remove(at: largest)
            }
        }
        refused.append((id, size, now))
        guard limit != nil else { return nil }
        nextProbe = now + Self.probeInterval
        return Self.probeInterval
    }

    /// Asks before a file is sent. A file that may go is a probe: the next one has to wait.
    /// - Returns: how long the file has to wait; nil where it may go.
    mutating func wait(size: Int64, now: ContinuousClock.Instant) -> (wait: Duration, limit: Int64)? {
        guard let limit, size >= limit, let nextProbe else { return nil }
        if now >= nextProbe {
            self.nextProbe = now + Self.probeInterval
            return nil
        }
        return (nextProbe - now, limit)
    }

    /// A file of that size was accepted.
    mutating func accepted(size: Int64) {
        if refused.contains(where: { $0.size <= size }) { self = LargeFileRefusals() }
    }
}

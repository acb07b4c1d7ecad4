import Commands
import Testing

/// The next status of a command when its execution ends: the table, row by row.
struct SettlementTests {
    static let now = Timestamp(milliseconds: 1_000_000)
    static let earlier = Timestamp(milliseconds: 5)

    static func command(
        _ status: CommandStatus, idempotent: Bool = true, requested: Bool = false, retries: Int = 0, crashes: Int = 0
    ) -> Command {
        var command = Command(id: CommandID(), type: "upload", destination: .none, createdAt: .zero)
        command.status = status
        command.idempotent = idempotent
        command.claim = 1
        command.cancelRequested = requested
        command.retries = retries
        command.crashes = crashes
        command.notBefore = earlier
        return command
    }

    static func settle(_ command: Command, _ result: ExecutionResult) -> Settlement {
        Settlement(of: command, result: result, now: now, chance: 0.5)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var command: Command
        var result: ExecutionResult
        var statuses: [CommandStatus]
        var retries = 0
        /// Milliseconds after ``now``; nil: unchanged.
        var wait: Int64?

        var testDescription: String { name }
    }

    static func failed(_ fault: CommandFailure.Fault, ambiguous: Bool = false, after: Duration? = nil)
        -> ExecutionResult
    {
        .failure(CommandFailure(fault, reason: "it failed", ambiguous: ambiguous, retryAfter: after))
    }

    /// A failure after the highest durable offset was raised.
    static func failedFurther(_ fault: CommandFailure.Fault) -> ExecutionResult {
        var failure = CommandFailure(fault, reason: "it was cut")
        failure.hasProgress = true
        return .failure(failure)
    }

    static let rows: [Row] = [
        Row(
            name: "charged at the limit of retries, with progress", command: command(.sent, retries: 5),
            result: failedFurther(.command), statuses: [.error], retries: 0, wait: 5000),
        Row(
            name: "the link's fault, with progress", command: command(.sent, retries: 3), result: failedFurther(.link),
            statuses: [.new], retries: 0),
        Row(name: "success", command: command(.sent), result: .success(result: nil), statuses: [.success]),
        Row(
            name: "a success wins over a cancellation request", command: command(.sent, requested: true),
            result: .success(result: nil),
            statuses: [.success]),
        Row(
            name: "cancelled before anything left", command: command(.queued, requested: true),
            result: .cancelled(reason: "by a person"), statuses: [.cancelled]),
        Row(
            name: "cancelled on the way", command: command(.sent, requested: true),
            result: .cancelled(reason: "by a person"),
            statuses: [.cancelled]),
        Row(
            name: "held back", command: command(.sent, retries: 2),
            result: .failure(.heldBack(reason: "the endpoint is paused", for: .seconds(60))), statuses: [.new],
            retries: 2, wait: 60_000),
        Row(
            name: "released before anything left", command: command(.queued),
            result: .released(reason: "drained", ambiguous: false), statuses: [.new]),
        Row(
            name: "released, idempotent, ambiguous", command: command(.sent),
            result: .released(reason: "drained", ambiguous: true), statuses: [.new]),
        Row(
            name: "released, not idempotent, nothing left", command: command(.sent, idempotent: false),
            result: .released(reason: "drained", ambiguous: false), statuses: [.new]),
        Row(
            name: "released, not idempotent, ambiguous", command: command(.sent, idempotent: false),
            result: .released(reason: "drained", ambiguous: true), statuses: [.inDoubt]),
        Row(
            name: "released, ambiguous, but only queued", command: command(.queued, idempotent: false),
            result: .released(reason: "drained", ambiguous: true), statuses: [.new]),
        Row(
            name: "released with a cancellation request", command: command(.sent, requested: true),
            result: .released(reason: "drained", ambiguous: true), statuses: [.cancelled]),
        Row(
            name: "released with a cancellation request, in doubt otherwise",
            command: command(.sent, idempotent: false, requested: true),
            result: .released(reason: "drained", ambiguous: true), statuses: [.cancelled]),
        Row(name: "the link's fault", command: command(.sent), result: failed(.link), statuses: [.new]),
        Row(
            name: "the link's fault with Retry-After", command: command(.sent),
            result: failed(.link, after: .seconds(30)),
            statuses: [.new], wait: 30_000),
        Row(
            name: "the link's fault at the limit of retries", command: command(.sent, retries: 5),
            result: failed(.link),
            statuses: [.new], retries: 5),
        Row(
            name: "the link's fault with a cancellation request", command: command(.sent, requested: true),
            result: failed(.link),
            statuses: [.cancelled]),
        Row(
            name: "the link's fault, not idempotent, ambiguous", command: command(.sent, idempotent: false),
            result: failed(.link, ambiguous: true), statuses: [.inDoubt]),
        Row(
            name: "the link's fault, not idempotent, nothing left", command: command(.sent, idempotent: false),
            result: failed(.link), statuses: [.new]),
        Row(
            name: "the credential", command: command(.sent), result: failed(.credential), statuses: [.new],
            wait: 60_000),
        Row(
            name: "the credential, and a longer wait", command: command(.sent),
            result: failed(.credential, after: .seconds(90)), statuses: [.new], wait: 90_000),
        Row(
            name: "the credential at the limit of retries", command: command(.sent, retries: 5),
            result: failed(.credential), statuses: [.new], retries: 5, wait: 60_000),
        Row(
            name: "the destination", command: command(.sent), result: failed(.destination), statuses: [.new],
            wait: 60_000),
        Row(
            name: "the destination, while preparing", command: command(.queued), result: failed(.destination),
            statuses: [.new], wait: 60_000),
        Row(
            name: "the destination, and a shorter wait", command: command(.sent),
            result: failed(.destination, after: .seconds(5)), statuses: [.new], wait: 60_000),
        Row(
            name: "the destination, and a longer wait", command: command(.sent),
            result: failed(.destination, after: .seconds(90)), statuses: [.new], wait: 90_000),
        Row(
            name: "the destination at the limit of retries", command: command(.sent, retries: 5),
            result: failed(.destination), statuses: [.new], retries: 5, wait: 60_000),
        Row(
            name: "the destination with a cancellation request", command: command(.sent, requested: true),
            result: failed(.destination), statuses: [.cancelled]),
        Row(
            name: "the destination, ambiguous, with a cancellation request",
            command: command(.sent, idempotent: false, requested: true), result: failed(.destination, ambiguous: true),
            statuses: [.cancelled]),
        Row(
            name: "the destination, not idempotent, ambiguous", command: command(.sent, idempotent: false),
            result: failed(.destination, ambiguous: true), statuses: [.inDoubt]),
        Row(
            name: "the destination, not idempotent, nothing left", command: command(.sent, idempotent: false),
            result: failed(.destination), statuses: [.new], wait: 60_000),
        Row(
            name: "the destination, idempotent, ambiguous", command: command(.sent),
            result: failed(.destination, ambiguous: true), statuses: [.new], wait: 60_000),
        Row(
            name: "the first charged failure", command: command(.sent), result: failed(.command), statuses: [.error],
            retries: 1, wait: 5000),
        Row(
            name: "the third charged failure", command: command(.sent, retries: 2), result: failed(.command),
            statuses: [.error], retries: 3, wait: 45_000),
        Row(
            name: "the last charged failure but one", command: command(.sent, retries: 4), result: failed(.command),
            statuses: [.error], retries: 5, wait: 405_000),
        Row(
            name: "retries used up", command: command(.sent, retries: 5), result: failed(.command),
            statuses: [.error, .tooManyTimes], retries: 5),
        Row(
            name: "a charged failure with Retry-After", command: command(.sent),
            result: failed(.command, after: .seconds(120)), statuses: [.error], retries: 1, wait: 120_000),
        Row(
            name: "a charged failure with a cancellation request", command: command(.sent, requested: true),
            result: failed(.command),
            statuses: [.cancelled]),
        Row(
            name: "a charged failure while preparing", command: command(.queued), result: failed(.command),
            statuses: [.error], retries: 1, wait: 5000),
        Row(
            name: "a charged failure, idempotent, ambiguous", command: command(.sent),
            result: failed(.command, ambiguous: true), statuses: [.error], retries: 1, wait: 5000),
        Row(
            name: "a charged failure, not idempotent, ambiguous", command: command(.sent, idempotent: false),
            result: failed(.command, ambiguous: true), statuses: [.inDoubt]),
        Row(
            name: "an ambiguous failure with a cancellation request",
            command: command(.sent, idempotent: false, requested: true),
            result: failed(.command, ambiguous: true), statuses: [.cancelled]),
        Row(
            name: "no retry can succeed", command: command(.sent), result: failed(.final),
            statuses: [.error, .tooManyTimes]),
        Row(
            name: "no retry can succeed, with a cancellation request", command: command(.sent, requested: true),
            result: failed(.final),
            statuses: [.cancelled]),
        Row(
            name: "no retry can succeed, while preparing", command: command(.queued), result: failed(.final),
            statuses: [.error, .tooManyTimes]),
    ]

    @Test(arguments: rows)
    func `the settlement follows from status, idempotence, cancellation request and fault`(row: Row) {
        let settlement = Self.settle(row.command, row.result)
        #expect(settlement.statuses == row.statuses)
        #expect(settlement.retries == row.retries)
        #expect(settlement.notBefore == (row.wait.map { Self.now + .milliseconds($0) } ?? Self.earlier))
    }

    @Test(
        arguments: [
            (nil, nil, 5000), (.seconds(300), nil, 300_000), (.seconds(1), nil, 1000),
            (.seconds(300), .seconds(600), 600_000), (.seconds(300), .seconds(2), 300_000),
        ] as [(Duration?, Duration?, Int64)])
    func `a charged failure waits as its operation says, and at least as long as the destination asks`(
        _ backoff: Duration?, _ retryAfter: Duration?, _ wait: Int64
    ) {
        for fault in [CommandFailure.Fault.command, .reset] {
            var failure = CommandFailure(fault, reason: "it failed", retryAfter: retryAfter)
            failure.backoff = backoff
            let settled = Self.settle(Self.command(.sent), .failure(failure))
            #expect(settled.notBefore - Self.now == .milliseconds(wait) && settled.retries == 1)
        }
        var failure = CommandFailure(.link, reason: "it failed")
        failure.backoff = backoff
        #expect(Self.settle(Self.command(.sent), .failure(failure)).notBefore == Self.earlier)
    }

    @Test func `every settlement passes only through legal transitions`() {
        var results: [ExecutionResult] = [.success(result: nil), .cancelled(reason: "requested")]
        for ambiguous in [false, true] {
            results.append(.released(reason: "drained", ambiguous: ambiguous))
            for fault in [CommandFailure.Fault.command, .link, .final, .credential, .destination] {
                results.append(Self.failed(fault, ambiguous: ambiguous))
            }
        }
        for idempotent in [false, true] {
            for requested in [false, true] {
                for retries in 0...6 {
                    for status in [CommandStatus.queued, .sent] {
                        let command = Self.command(
                            status, idempotent: idempotent, requested: requested, retries: retries)
                        for result in results where status == .sent || result != .success(result: nil) {
                            var at = status
                            for next in Self.settle(command, result).statuses {
                                #expect(at.mayBecome(next), "\(at) → \(next) after \(result)")
                                at = next
                            }
                        }
                        for charged in [false, true] {
                            for crashes in 0...Command.crashLimit {
                                let command = Self.command(
                                    status, idempotent: idempotent, requested: requested, retries: retries,
                                    crashes: crashes)
                                var at = status
                                let settlement = Settlement(
                                    ofDeath: command, charged: charged, reason: "died", now: .zero)
                                for next in settlement.statuses {
                                    #expect(at.mayBecome(next), "\(at) → \(next) after a death")
                                    at = next
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    @Test func `the reason of a cancelled command says that it may have been delivered, once it was sent`() {
        let queued = Self.settle(Self.command(.queued, requested: true), .cancelled(reason: "by a person"))
        let sent = Self.settle(Self.command(.sent, requested: true), .cancelled(reason: "by a person"))
        #expect(queued.reason == "by a person")
        #expect(sent.reason == "by a person; may have been delivered")
        // The row has the reason of the request; the worker only knows that there is one.
        var late = Self.command(.queued, requested: true)
        late.reason = "its deadline passed"
        #expect(Self.settle(late, .cancelled(reason: "cancelled")).reason == "its deadline passed")
    }

    @Test func `a failure sets the reason, and a success removes it`() {
        #expect(Self.settle(Self.command(.sent), Self.failed(.command)).reason == "it failed")
        #expect(Self.settle(Self.command(.sent), .success(result: nil)).reason == nil)
    }

    @Test func `a command without a destination is charged for failures of a destination`() {
        let host = Destination(scheme: "http", host: "a", port: 80)
        let faults: [CommandFailure.Fault] = [.command, .link, .final, .credential, .destination]
        for fault in faults {
            let failure = CommandFailure(fault, reason: "it failed")
            #expect(failure.judged(at: host, othersSucceed: true) == failure)
            let isDestinations = [.link, .credential, .destination].contains(fault)
            #expect(failure.judged(at: .none, othersSucceed: false).fault == (isDestinations ? .command : fault))
        }
    }

    struct Death: Sendable {
        var command: Command
        var charged: Bool
        var statuses: [CommandStatus]
        /// After ``now``; nil: unchanged.
        var wait: Duration?
    }

    static let deaths: [Death] = [
        Death(command: command(.queued), charged: false, statuses: [.new]),
        Death(command: command(.sent), charged: false, statuses: [.new]),
        Death(command: command(.sent, idempotent: false), charged: false, statuses: [.inDoubt]),
        Death(command: command(.queued, idempotent: false), charged: false, statuses: [.new]),
        Death(command: command(.sent, requested: true), charged: false, statuses: [.cancelled]),
        Death(command: command(.sent, idempotent: false, requested: true), charged: false, statuses: [.cancelled]),
        Death(command: command(.sent), charged: true, statuses: [.new], wait: .seconds(2)),
        Death(command: command(.sent, crashes: 3), charged: true, statuses: [.new], wait: .seconds(16)),
        Death(command: command(.sent, crashes: 4), charged: true, statuses: [.error, .tooManyTimes]),
        Death(command: command(.queued, crashes: 4), charged: true, statuses: [.error, .tooManyTimes]),
        Death(command: command(.sent, crashes: 4), charged: false, statuses: [.new]),
        Death(command: command(.sent, idempotent: false, crashes: 4), charged: true, statuses: [.inDoubt]),
        Death(command: command(.sent, requested: true, crashes: 4), charged: true, statuses: [.cancelled]),
    ]

    @Test(arguments: deaths.indices)
    func `the settlement of a death follows from status, charge and start`(index: Int) {
        let death = Self.deaths[index]
        let now = Timestamp.now
        let settlement = Settlement(
            ofDeath: death.command, charged: death.charged, reason: "the worker died", now: now)
        #expect(settlement.statuses == death.statuses)
        #expect(settlement.retries == death.command.retries)
        #expect(settlement.notBefore == death.wait.map { now + $0 } ?? death.command.notBefore)
        #expect(settlement.reason?.contains("the worker died") == true)
    }
}

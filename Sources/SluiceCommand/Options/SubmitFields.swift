internal import ArgumentParser
internal import Commands
internal import Queue

/// The options of a command that `put` and `submit` share.
struct SubmitFields: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Quality of service: userInteractive, userInitiated, default, utility or background. (default: default)",
            valueName: "qos"))
    var qos: QualityOfService?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            While a command holds this key, a second submit of the same payload returns that command's UUID and says \
            “existing”; one of another payload is an error.
            """, valueName: "key"))
    var uniqueKey: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How long the command holds its unique key: kept (until it is pruned, by default 7 days after its end), \
            running (until it has ended), or a time from the submit on, as in 10m or 24h, but not longer than the \
            command is kept. A command that is cancelled or gave up holds its key no longer. (default: kept)
            """, valueName: "period"),
        transform: UniquePeriod.init(option:))
    var uniqueFor: UniquePeriod?

    @Option(
        name: .long,
        help: ArgumentHelp("Charged failures after which it is given up. (default: 5; webhook: 9)", valueName: "count"))
    var retryLimit: Int?

    @Option(
        name: .long, help: ArgumentHelp("Do not run it earlier: RFC 3339, or from now as in 10m.", valueName: "time"))
    var notBefore: TimeArgument?

    @Option(name: .long, help: ArgumentHelp("Cancel it after: RFC 3339, or from now as in 2h.", valueName: "time"))
    var deadline: TimeArgument?

    @Option(
        name: .long,
        help: "Whether it may be executed again when it may have been delivered. (default: as its operation says)")
    var idempotent: YesNo?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Run it only when this command has succeeded; with “:failure” when it is given up or cancelled, with “:end” \
            after any end. Several are all waited for. When one of them ends otherwise, this one is cancelled.
            """, valueName: "id"))
    var after: [DependencyArgument] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Commands with one key run one after the other, in the order of their submits. Each holds the key until it has \
            ended, also while it waits for a retry or is in doubt.
            """, valueName: "key"))
    var orderingKey: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How many commands with the ordering key may run at once. (default: as before, 1 for a new key)",
            valueName: "count"))
    var keyLimit: Int?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Whether it holds the ordering key also when it is given up: pass (the next one runs), or hold (until a person \
            retries or cancels it). (default: pass)
            """, valueName: "policy"),
        transform: { text in
            guard let value = OrderingKeyFailure(rawValue: text) else {
                throw ValidationError("--key-failure is '\(text)' and must be \(OrderingKeyFailure.forms).")
            }
            return value
        })
    var keyFailure: OrderingKeyFailure?

    @Option(
        name: .long,
        help: ArgumentHelp("Make it a member of this batch, which is open (“sluice batch open”).", valueName: "id"))
    var batch: BatchArgument?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The rate limit that its starts count against; “sluice limit set” makes one.", valueName: "name"))
    var limit: String?

    func validate() throws {
        if let limit, !RateLimit.isName(limit) {
            throw ValidationError("--limit is '\(limit)', not the name of a rate limit: \(RateLimit.nameForm).")
        }
        if let orderingKey, orderingKey.isEmpty { throw ValidationError("--ordering-key must not be empty.") }
        if let keyLimit {
            guard (1...1000).contains(keyLimit) else { throw ValidationError("--key-limit must be from 1 to 1000.") }
        }
        if let retryLimit, !(0...SubmitOptions.maxRetryLimit).contains(retryLimit) {
            throw ValidationError("--retry-limit must be from 0 to \(SubmitOptions.maxRetryLimit).")
        }
        if let uniqueKey, uniqueKey.isEmpty { throw ValidationError("--unique-key must not be empty.") }
    }

    /// Refuses a period without a key. Not for bulk, whose lines may have keys of their own.
    func requireKeyOfPeriod() throws {
        guard uniqueFor == nil || uniqueKey != nil else {
            throw ValidationError("--unique-for says how long --unique-key is held: give both.")
        }
    }

    var options: SubmitOptions {
        var options = SubmitOptions()
        options.qos = qos ?? .default
        options.uniqueKey = uniqueKey
        options.uniqueFor = uniqueFor ?? .kept
        options.retryLimit = retryLimit
        options.notBefore = notBefore?.time ?? .zero
        options.deadline = deadline?.time
        options.idempotent = idempotent.map { $0 == .yes }
        options.orderingKey = orderingKey
        options.keyLimit = keyLimit
        options.keyFailure = keyFailure ?? .pass
        options.batch = batch?.id
        options.limit = limit
        options.dependencies = after.map(\.dependency)
        return options
    }
}

extension UniquePeriod {
    /// Reads the value of `--unique-for`.
    init(option text: String) throws {
        guard let period = UniquePeriod(text: text) else { throw ValidationError("it must be \(Self.forms).") }
        self = period
    }
}

enum YesNo: String, ExpressibleByArgument, CaseIterable {
    case yes, no
}

/// The value of `--after`: an id, and the end that is waited for.
struct DependencyArgument: ExpressibleByArgument {
    let dependency: Dependency

    init?(argument: String) {
        guard let dependency = Dependency(text: argument) else {
            ArgumentForm.expect("the whole UUID of a command, or one with a condition as in UUID:end")
            return nil
        }
        self.dependency = dependency
    }
}

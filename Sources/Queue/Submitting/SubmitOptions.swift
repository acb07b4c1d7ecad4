/// The fields of a command that a producer may set, in addition to its type and payload.
public struct SubmitOptions: Sendable, Equatable {
    /// How urgent the command is. The default is `default`.
    public var qos: QualityOfService = .default
    /// Whether the command may be executed again after an ambiguous end. Nil, the default: as its operation
    /// says, or as the rule of its type says (``PayloadRule``), and false for a type without either.
    public var idempotent: Bool?
    /// The maximum number of charged failures that are retried, 0…``maxRetryLimit``. The next one gives the
    /// command up. Nil, the default: as its operation says, which is 5 (``Command/defaultRetryLimit``) for
    /// all but `webhook`.
    public var retryLimit: Int?
    /// The command is not offered before this time, from 1970 on. Zero, the default: it may be offered at
    /// once.
    public var notBefore: Timestamp = .zero
    /// The command is cancelled at this time, even while it runs. Nil, the default: never.
    public var deadline: Timestamp?
    /// 1 to 512 bytes of UTF-8, compared by its bytes. While a command of the same type holds this key, a
    /// submit of the same payload and destination returns that command's id. With another payload or
    /// destination it is refused (`conflict`). Nil, the default: the command has no key.
    public var uniqueKey: String?
    /// How long the command holds ``uniqueKey``; a duration has at least 1 ms. Without a key it has no
    /// effect. The default is `kept`.
    public var uniqueFor = UniquePeriod.kept
    /// The destination of the command. Nil, the default: the one that its operation reads in the payload, and
    /// none for a type without a known operation. `Destination.none` needs its full name here.
    public var destination: Destination?
    /// The commands that this one waits for, at most 1,000. Empty, the default: it may run at once.
    public var dependencies: [Dependency] = []
    /// 1 to 512 bytes of UTF-8, compared by its bytes. Commands with one key run one after the other, in the order of their
    /// submits (``CommandDraft/orderingKey``). Nil, the default: the command waits for no other.
    public var orderingKey: String?
    /// How many commands with the ordering key may run at once, 1…1,000. Nil, the default, leaves it as it is: 1 for a new
    /// key.
    public var keyLimit: Int?
    /// Whether the command holds its ordering key also when it is given up. `pass`, the default: it does not.
    public var keyFailure = OrderingKeyFailure.pass
    /// The open batch of which the command becomes a member. Nil, the default: none.
    public var batch: CommandID?
    /// The name of a rate limit that the starts of the command count against (``CommandDraft/limit``). It must exist:
    /// `sluice limit set` makes it. Nil, the default: none.
    public var limit: String?
    /// The command is a node or a callback of a flow, whose document is checked as a whole.
    package var isNode = false
    /// Whether to accept a type that no worker has ever been able to run. The default is false.
    public var allowUnknownType = false

    /// Makes options with their defaults.
    public init() {}

    /// The maximum of ``retryLimit``: 1,000.
    public static let maxRetryLimit = Command.maxRetryLimit
}

extension CommandDraft {
    /// Checks a payload against its operation and makes the draft of a command.
    ///
    /// - Parameters:
    ///   - text: the payload as its producer wrote it, which is stored byte for byte unless the operation
    ///     replaces the payload, because `payload` rounds numbers beyond 64 bits. Nil: the compact text of
    ///     `payload`.
    ///   - registry: the operations that check payloads. For a type without an operation, the rule that
    ///     its worker has stored holds; without one the options set the destination, and the command is not
    ///     idempotent unless they say so.
    /// - Throws: ``PayloadError`` that names the key or the file.
    package init(
        type: String, payload: JSONValue, text: [UInt8]? = nil, options: SubmitOptions, registry: OperationRegistry
    ) throws(PayloadError) {
        guard CommandDraft.isType(type) else {
            throw PayloadError(.data, "“\(type)” is not a command type: use 1 to 64 of a-z, 0-9, “.” and “-”")
        }
        guard type != CommandType.flow else {
            throw PayloadError(
                .data, "a flow is submitted as a whole: “sluice flow submit”, or SluiceClient.submit of a FlowDraft")
        }
        guard type != CommandType.batch else {
            throw PayloadError(
                .data,
                "a batch is opened, and its members name it: “sluice batch submit”, or SluiceClient.open of a BatchDraft"
            )
        }
        if let limit = options.retryLimit, !(0...SubmitOptions.maxRetryLimit).contains(limit) {
            throw PayloadError(.data, "“retryLimit” is \(limit) and must be from 0 to \(SubmitOptions.maxRetryLimit)")
        }
        let facts = try Self.attributes(of: payload, type: type, options, registry)
        let bytes = facts.payload?.bytes ?? text ?? payload.bytes
        guard bytes.count <= Command.payloadLimit else {
            throw PayloadError(
                .data,
                "the payload has \(bytes.count) bytes and may have \(Command.payloadLimit): submit a reference to it")
        }
        self.init(
            type: type, payload: bytes, destination: options.destination ?? facts.destination, qos: options.qos,
            idempotent: options.idempotent ?? facts.idempotent)
        retryLimit = options.retryLimit ?? facts.retryLimit ?? Command.defaultRetryLimit
        notBefore = options.notBefore
        deadline = options.deadline
        uniqueKey = options.uniqueKey
        dependencies = options.dependencies
        orderingKey = options.orderingKey
        keyLimit = options.keyLimit
        keyFailure = options.keyFailure
        batch = options.batch
        limit = options.limit
        total = facts.total
        uniqueFor = options.uniqueFor
        if uniqueKey != nil { identity = facts.identity?.bytes }
    }

    private static func attributes(
        of payload: JSONValue, type: String, _ options: SubmitOptions, _ registry: OperationRegistry
    ) throws(PayloadError) -> PayloadAttributes {
        if options.mayRefer {
            let template: PayloadTemplate
            do throws(PayloadReferenceError) { template = try PayloadTemplate(payload) } catch {
                throw PayloadError(.data, error.description)
            }
            if let problem = options.problem(of: template) { throw PayloadError(.data, problem) }
            if !template.isPlain {
                try requireAbsolutePaths(template, type)
                let destination = options.destination ?? fileDestination(of: template, type, registry)
                return try registry.attributes(of: template, type: type, destination: destination)
            }
        }
        return try registry.attributes(of: payload, type: type)
            ?? PayloadAttributes(destination: options.destination ?? .none, idempotent: false)
    }

    /// The members of payloads of built-in types that may name a file.
    static let pathKeys = ["file", "bodyFile", "to", "saveTo", "stdinFile", "directory"]

    /// Whether a member of ``pathKeys`` depends on the working directory of the process that reads it.
    static func isRelativePath(_ text: String) -> Bool {
        text.utf8.first != UInt8(ascii: "/") && Destination(text) == nil
    }

    /// The operation inspects the payload when it has its results, in another process.
    private static func requireAbsolutePaths(_ template: PayloadTemplate, _ type: String) throws(PayloadError) {
        guard CommandType.builtIn.contains(type) else { return }
        for key in pathKeys {
            guard let pointer = try? JSONPointer("/\(key)"), let path = template.literal(at: pointer)?.string,
                isRelativePath(path)
            else { continue }
            throw PayloadError(
                .data, "“\(key)” is “\(path)”; a payload with references needs a path that starts with “/”")
        }
    }

    /// The file system that holds the destination of a payload; nil where the destination is not a file.
    private static func fileDestination(
        of template: PayloadTemplate, _ type: String, _ registry: OperationRegistry
    ) -> Destination? {
        guard let pointer = registry.rule(for: type).destination.flatMap({ try? JSONPointer($0) }),
            let url = template.literal(at: pointer)?.string, Destination(url)?.isFile == true
        else { return nil }
        return registry.fileSystem?(url)
    }
}

extension SubmitOptions {
    /// Whether objects such as `{"$result": …}` in the payload are references, and not data.
    fileprivate var mayRefer: Bool { isNode || !dependencies.isEmpty }

    /// Why a payload refers to something that its command does not wait for; nil where it does not.
    fileprivate func problem(of template: PayloadTemplate) -> String? {
        guard !isNode else { return nil }
        for source in template.parents {
            guard case .command(let id) = source else {
                return
                    "the payload refers to “\(source)”, a node, and this command is in no flow: refer to a command by its id"
            }
            guard let dependency = dependencies.first(where: { $0.parent == id }) else {
                return
                    "the payload refers to the result of \(id), and the command does not wait for it: add it to --after"
            }
            let hasDefault = template.references.allSatisfy { $0.source != source || $0.defaultValue != nil }
            guard dependency.condition == .success || hasDefault else {
                return
                    "the payload refers to the result of \(id), which may have none, because the command waits for its "
                    + "\(dependency.condition.name): give the reference a “default”"
            }
        }
        return template.usesFlow ? "the payload refers to its flow, and this command is in none" : nil
    }
}

internal import Commands
package import Operations
package import Store

/// Checks the commands that programs have submitted by SQL, as `sluice submit -` checks its lines. The coordinator calls it, and it
/// may read the files that payloads name.
package struct InboxCheck: Sendable {
    private let registry: OperationRegistry
    /// The rule that a worker has stored for a type.
    private let rule: @Sendable (_ type: String) throws(StoreError) -> PayloadRule?

    /// - Parameter registry: the operations of the coordinator's configuration.
    package init(_ queue: QueueAccess, registry: OperationRegistry) {
        self.init(registry: registry) { [store = queue.store] type throws(StoreError) in
            try store.setting(SettingKey.type(type)).flatMap { PayloadRule(setting: $0) }
        }
    }

    init(
        registry: OperationRegistry, rule: @escaping @Sendable (_ type: String) throws(StoreError) -> PayloadRule?
    ) {
        self.registry = registry
        self.rule = rule
    }

    /// - Returns: one verdict for each entry, in order.
    /// - Throws: where the rule of a type cannot be read.
    package func verdicts(on entries: [InboxEntry]) throws(StoreError) -> [InboxVerdict] {
        var registry = registry
        for type in Set(entries.map(\.type)) where registry[type] == nil {
            registry = registry.adding(try rule(type), for: type)
        }
        return entries.map { verdict(on: $0, registry) }
    }

    private func verdict(on entry: InboxEntry, _ registry: OperationRegistry) -> InboxVerdict {
        var options = SubmitOptions()
        do throws(PayloadError) {
            try Self.read(entry.options, into: &options)
            let payload: JSONValue
            do throws(JSONError) { payload = try JSONValue(parsing: entry.payload) } catch {
                throw PayloadError(.data, "the payload is not valid JSON: \(error)")
            }
            guard entry.type != CommandType.exec || registry[entry.type] != nil else {
                throw PayloadError(
                    .data,
                    "programs are off: set “exec.enabled: true” in sluice.yaml, list the program in programs, restart the "
                        + "coordinator and the workers, and retry the command")
            }
            if CommandType.builtIn.contains(entry.type) { try Self.requireAbsolutePaths(payload) }
            return .draft(
                try CommandDraft(
                    type: entry.type, payload: payload, text: entry.payload, options: options, registry: registry))
        } catch {
            return .refused(reason: error.message, draft: CommandDraft(refused: entry, options))
        }
    }

    private static func read(_ text: [UInt8], into options: inout SubmitOptions) throws(PayloadError) {
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue(parsing: text) } catch {
            throw PayloadError(.data, "the options are not valid JSON: \(error)")
        }
        guard let members = value.members else {
            throw PayloadError(.data, "the options must be an object, not \(value.kind)")
        }
        for member in members { try BulkField.read(member, into: &options) }
    }

    /// The working directory of the coordinator is not that of the program that has submitted the command.
    private static func requireAbsolutePaths(_ payload: JSONValue) throws(PayloadError) {
        for key in CommandDraft.pathKeys {
            guard let path = payload[key]?.string, CommandDraft.isRelativePath(path) else { continue }
            throw PayloadError(
                .data, "“\(key)” is “\(path)”; a command that is submitted by SQL needs a path that starts with “/”")
        }
    }
}

extension CommandDraft {
    /// The draft of a dead letter: what its producer has stated.
    fileprivate init(refused entry: InboxEntry, _ options: SubmitOptions) {
        self.init(
            type: entry.type, payload: entry.payload, destination: options.destination ?? .none, qos: options.qos,
            idempotent: options.idempotent ?? false)
        retryLimit = options.retryLimit ?? Command.defaultRetryLimit
        deadline = options.deadline
        uniqueKey = options.uniqueKey
        uniqueFor = options.uniqueFor
        orderingKey = options.orderingKey
    }
}

package import Commands
internal import FlowText
package import Operations
internal import Queue
internal import Store
package import Uploads

/// The command or flow of a finished upload.
package enum RouteResult: Sendable, Equatable {
    /// It stays in the spool.
    case stored
    case command(CommandDraft)
    case flow(FlowPlan)

    /// The commands that are submitted, callbacks last.
    package var drafts: [CommandDraft] {
        switch self {
        case .stored: []
        case .command(let draft): [draft]
        case .flow(let plan): plan.nodes.map(\.draft) + plan.flow.callbacks.map(\.draft)
        }
    }
}

extension UploadRoute {
    /// Why an upload cannot take this route, as far as it is known when the upload is created: its length, a fact that is
    /// missing, or a value that a template does not take.
    /// - Parameter length: bytes in all; nil where they are not known.
    /// - Throws: `tooLarge` or `invalid`.
    package func check(_ facts: UploadFacts, id: CommandID, length: Int64?) throws(UploadError) {
        if let maxSize, let length, length > maxSize {
            throw UploadError(
                .tooLarge(limit: maxSize), "The upload has \(length) bytes, and the route “\(name)” takes \(maxSize).")
        }
        let facts = RouteFacts(id: id, facts).sampled(length: length)
        do throws(RouteTemplateError) {
            if facts.uniqueKey != nil, !becomesCommand {
                throw RouteTemplateError(problem: "“uniqueKey” is of a command or flow, which this route does not have")
            }
            _ = try uniqueKeyText(facts)
            _ = try key(orderingKey, "orderingKey", facts)
            switch action {
            case .none: break
            case .command(let command): _ = try command.payload.filled(facts)
            case .flow(let flow): _ = try flow.filled(facts)
            }
        } catch {
            throw refusal(error)
        }
    }

    /// The key that decides the shard of the command: the ordering key, else the unique key; nil where the shard is free.
    /// - Throws: `invalid`, as ``check(_:id:length:)``.
    package func shardKey(_ facts: UploadFacts) throws(UploadError) -> String? {
        let facts = RouteFacts(id: CommandID(high: 0, low: 0), facts)
        do throws(RouteTemplateError) {
            if let key = try key(orderingKey, "orderingKey", facts) { return key }
            return try uniqueKeyText(facts)
        } catch {
            throw refusal(error)
        }
    }

    /// The unique key of the command or flow; nil without one. No unique key depends on the bytes.
    /// - Throws: `invalid`, as ``check(_:id:length:)``.
    func unique(_ facts: UploadFacts) throws(UploadError) -> UniqueKey? {
        let type: String? =
            switch action {
            case .none: nil
            case .command(let command): command.type
            case .flow: CommandType.flow
            }
        let facts = RouteFacts(id: CommandID(high: 0, low: 0), facts)
        do throws(RouteTemplateError) {
            guard let type, let unique = try uniqueKeyText(facts) else { return nil }
            return UniqueKey(type: type, orderingKey: try key(orderingKey, "orderingKey", facts) ?? "", key: unique)
        } catch {
            throw refusal(error)
        }
    }

    /// The command or flow of a complete upload. Its operation checks the payload, which may read the file: blocks.
    /// - Parameter registry: the operations that check the payloads of a type.
    /// - Throws: `invalid` where a template or an operation refuses the upload, `failed` where its file cannot be read, and
    ///   `unavailable` where the same call may succeed later.
    package func result(
        of facts: RouteFacts, registry: @escaping (String) throws -> OperationRegistry
    ) throws(UploadError) -> RouteResult {
        do {
            switch action {
            case .none: return .stored
            case .command(let command): return .command(try draft(command, facts, registry))
            case .flow(let flow): return .flow(try plan(flow, facts, registry))
            }
        } catch {
            throw refusal(error)
        }
    }

    private func draft(
        _ command: RouteCommand, _ facts: RouteFacts, _ registry: (String) throws -> OperationRegistry
    ) throws -> CommandDraft {
        var options = SubmitOptions()
        if let qos { options.qos = qos }
        options.retryLimit = retryLimit
        options.uniqueKey = try uniqueKeyText(facts)
        options.orderingKey = try key(orderingKey, "orderingKey", facts)
        for member in command.options { try BulkField.read(member, into: &options) }
        var draft = try CommandDraft(
            type: command.type, payload: try command.payload.filled(facts), options: options,
            registry: try registry(command.type))
        draft.payload = Self.withoutInode(draft.payload)
        if options.uniqueKey != nil { draft.identity = identity(facts, try command.payload.filled(facts.masked)) }
        return draft
    }

    private func plan(
        _ flow: RouteFlow, _ facts: RouteFacts, _ registry: @escaping (String) throws -> OperationRegistry
    ) throws -> FlowPlan {
        var document = try flow.filled(facts)
        if let qos { document.options.append(.init("qos", .string(qos.name))) }
        var draft = try FlowBuilder(registry: registry).flow(document)
        draft.name = flowName(document.name, facts)
        draft.uniqueKey = try uniqueKeyText(facts)
        draft.orderingKey = try key(orderingKey, "orderingKey", facts)
        for index in draft.nodes.indices {
            draft.nodes[index].draft.payload = Self.withoutInode(draft.nodes[index].draft.payload)
        }
        for index in draft.callbacks.indices {
            draft.callbacks[index].draft.payload = Self.withoutInode(draft.callbacks[index].draft.payload)
        }
        if draft.uniqueKey != nil {
            let masked = try flow.filled(facts.masked)
            for index in draft.nodes.indices {
                draft.nodes[index].draft.identity = identity(facts, masked.nodes[index].payload)
            }
            for index in draft.callbacks.indices {
                draft.callbacks[index].draft.identity = identity(facts, masked.callbacks[index].node.payload)
            }
        }
        return try FlowPlan(draft)
    }

    /// The name of a flow, by which a person tells those of several uploads apart: that of the document, or else that of the
    /// route, and the name of the file. Two flows with one unique key are compared without their names.
    private func flowName(_ document: String, _ facts: RouteFacts) -> String {
        let own = document == FlowDocument.defaultName ? name : document
        let file = facts.name.flatMap { $0.isEmpty ? nil : $0 } ?? facts.id.description
        return String("\(own): \(file)".prefix(FlowDocument.maxNameCharacters))
    }

    /// The payload with a source that has no inode, which operations then do not compare: a worker may make the file of a
    /// small upload again, from the row.
    private static func withoutInode(_ payload: [UInt8]) -> [UInt8] {
        guard let value = try? JSONValue(parsing: payload), let members = value.members,
            let source = value["source"]?.members, value["source"]?["inode"] != nil
        else { return payload }
        let changed = source.map { $0.name == "inode" ? JSONValue.Member("inode", 0) : $0 }
        return JSONValue.object(members.map { $0.name == "source" ? .init("source", .object(changed)) : $0 }).bytes
    }

    /// The work of an upload, by which two with one unique key are equal: the content counts, and not the name of its
    /// spooled file.
    private func identity(_ facts: RouteFacts, _ payload: JSONValue) -> [UInt8] {
        JSONValue.object([
            .init("payload", payload), .init("size", facts.size.map { .integer($0) } ?? .null),
            .init("sha256", facts.sha256.map { .array($0.map { .integer(Int64($0)) }) } ?? .null),
        ]).bytes
    }

    private func uniqueKeyText(_ facts: RouteFacts) throws(RouteTemplateError) -> String? {
        guard let key = facts.uniqueKey else { return try key(uniqueKey, "uniqueKey", facts) }
        return try checked(key, "uniqueKey")
    }

    private func key(
        _ template: RouteTemplate?, _ name: String, _ facts: RouteFacts
    ) throws(RouteTemplateError) -> String? {
        guard let template else { return nil }
        let key: String
        do throws(RouteTemplateError) { key = try template.filled(facts) } catch {
            throw RouteTemplateError(problem: "“\(name)”: \(error.problem)")
        }
        return try checked(key, name)
    }

    private func checked(_ key: String, _ name: String) throws(RouteTemplateError) -> String {
        guard (1...512).contains(key.utf8.count) else {
            throw RouteTemplateError(
                problem: "“\(name)” would have \(key.utf8.count) bytes; a key has from 1 to 512: shorten the name")
        }
        return key
    }

    private func refusal(_ error: any Error) -> UploadError {
        let template = error as? RouteTemplateError
        let place = template.map(\.pointer).flatMap { $0.isEmpty ? nil : $0 }.map {
            "“\($0.dropFirst().replacing("/", with: "."))”: "
        }
        let sentence = template?.problem ?? "\(error)"
        let code = Self.code(error)
        guard code == .invalid else {
            // It may name files of this machine.
            var failure = UploadError(
                code, "The route “\(name)” cannot take uploads now; the log of the server has the reason.")
            failure.cause = "The route “\(name)” does not take this upload: \(sentence)"
            return failure
        }
        return UploadError(
            code, "The route “\(name)” does not take this upload: \(place ?? "")\(sentence.withFullStop)")
    }

    private static func code(_ error: any Error) -> UploadError.Code {
        switch error {
        case let error as FlowBuildError: return code(error.cause)
        case let error as PayloadError:
            switch error.problem {
            case .data, .usage: return .invalid
            case .source: return .failed
            case .passing: return .unavailable
            }
        case is RouteTemplateError, is FlowError: return .invalid
        // Of the registry.
        default: return .unavailable
        }
    }
}

extension RouteFacts {
    /// Without the facts that differ in each upload.
    fileprivate var masked: RouteFacts {
        var facts = self
        facts.id = CommandID(high: 0, low: 0)
        facts.file = "/"
        return facts
    }
}

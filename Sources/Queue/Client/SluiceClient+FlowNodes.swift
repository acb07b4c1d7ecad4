public import Commands

extension SluiceClient {
    /// Makes a node of a flow: checks its payload against its operation, as ``draft(_:payload:options:)`` does.
    ///
    /// The payload may refer to results of other nodes (``Commands/JSONValue/result(_:default:)``); the node then waits for
    /// their success. Its operation checks such a payload when it has the results, and a file in it needs an absolute path.
    /// - Parameters:
    ///   - name: unique in its flow: 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”.
    ///   - type: the type of the command.
    ///   - payload: JSON for the operation. The default is an empty object.
    ///   - after: the nodes that it waits for, by name. The default is none but those that the payload refers to.
    ///   - mayFail: whether its failure satisfies dependencies on its success, and does not fail the flow. The default is
    ///     false.
    ///   - options: without keys and dependencies of its own.
    /// - Throws: ``SluiceError``, as ``draft(_:payload:options:)``; `invalid` also for a reference that is malformed, or
    ///   whose result may be missing and which has no default.
    public func node(
        _ name: String, _ type: String, payload: JSONValue = .object([]), after: [String: DependencyCondition] = [:],
        mayFail: Bool = false, options: SubmitOptions = SubmitOptions()
    ) throws(SluiceError) -> FlowNode {
        let template = try template(payload)
        var after = after
        for source in template.parents {
            guard case .node(let parent) = source else {
                throw SluiceError(
                    .invalid, "node “\(name)”: its payload refers to “\(source)”; name a node of its flow")
            }
            let hasDefault = template.references.allSatisfy { $0.source != source || $0.defaultValue != nil }
            guard after[parent, default: .success] == .success || hasDefault else {
                throw SluiceError(
                    .invalid,
                    "node “\(name)”: the result of “\(parent)” may be missing, because the node does not wait for its success; "
                        + "give the reference a default")
            }
            if after[parent] == nil { after[parent] = .success }
        }
        guard !template.usesFlow else {
            throw SluiceError(.invalid, "node “\(name)”: its payload refers to the flow, which only a callback can")
        }
        return FlowNode(name, try draft(ofNode: type, payload, options), after: after, mayFail: mayFail)
    }

    /// Makes a command that runs when a flow has ended.
    ///
    /// Its payload may have facts about the flow: `["$flow": "status"]`, or `id`, `name`, `nodes` or `failed`.
    /// - Parameters:
    ///   - condition: the ends of the flow that let it run.
    ///   - payload: JSON for the operation. The default is an empty object.
    /// - Throws: ``SluiceError``, as ``node(_:_:payload:after:mayFail:options:)``.
    public func callback(
        on condition: DependencyCondition, _ type: String, payload: JSONValue = .object([]),
        options: SubmitOptions = SubmitOptions()
    ) throws(SluiceError) -> FlowDraft.Callback {
        guard try template(payload).parents.isEmpty else {
            throw SluiceError(.invalid, "a callback refers to its flow (“$flow”), and to the result of no node")
        }
        return FlowDraft.Callback(on: condition, try draft(ofNode: type, payload, options))
    }

    private func template(_ payload: JSONValue) throws(SluiceError) -> PayloadTemplate {
        do throws(PayloadReferenceError) { return try PayloadTemplate(payload) } catch {
            throw SluiceError(.invalid, error.description)
        }
    }

    private func draft(
        ofNode type: String, _ payload: JSONValue, _ options: SubmitOptions
    ) throws(SluiceError) -> CommandDraft {
        var options = options
        options.isNode = true
        return try draft(type, payload: payload, options: options)
    }
}

extension JSONValue {
    /// A reference to the result of a node of the same flow, for payloads of ``SluiceClient/node(_:_:payload:after:mayFail:options:)``.
    /// - Parameters:
    ///   - place: the name of the node, and behind it a JSON Pointer (RFC 6901) into its result, as in `download/path`.
    ///   - defaultValue: stands in for a result that is missing. Nil, the default: the command is given up then.
    public static func result(_ place: String, default defaultValue: JSONValue? = nil) -> JSONValue {
        .object(
            [.init("$result", .string(place))] + (defaultValue.map { [.init("default", $0)] } ?? []))
    }
}

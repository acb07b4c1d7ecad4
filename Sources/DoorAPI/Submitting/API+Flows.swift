internal import Commands
internal import Door
internal import FlowText
internal import HTTPTypes
internal import Host
internal import Queue

extension API {
    private static let maxFlow = 16 << 20
    private static let flowTypes = [
        "application/json", "application/yaml", "application/x-yaml", "text/yaml",
    ]

    @Sendable func submitFlow(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let policy = try policy(request)
        let key = try IdempotencyScope(request)
        let bytes = try await JSONBody.bytes(request, types: Self.flowTypes, limit: Self.maxFlow)
        return try await runningKeys.run(key) {
            var flow = try await BlockingPool.shared.run { () throws(Problem) in try self.flow(bytes, policy) }
            if let key {
                guard flow.uniqueKey == nil else {
                    throw Self.refusal("a flow has either “uniqueKey” or the Idempotency-Key of its request; send one")
                }
                if let id = try await command(of: key, bytes) {
                    return Self.response(to: request, flow, Submission(id: id, isExisting: true))
                }
                flow.uniqueKey = key.uniqueKey(line: 0, bytes)
            }
            do {
                let submission = try await client.submitOrFind(flow)
                if !submission.isExisting { door.statistics.countSubmitted(CommandType.flow) }
                return Self.response(to: request, flow, submission)
            } catch let error as SluiceError {
                // Nodes that wait for each other, for example.
                throw error.code == .invalid ? Self.refusal(error.message) : problem(error)
            }
        }
    }

    private static func response(to request: DoorRequest, _ flow: FlowDraft, _ submission: Submission) -> Response {
        JSONReply.response(
            [
                "id": .string(submission.id.description), "existing": .bool(submission.isExisting),
                "name": .string(flow.name), "nodes": .integer(Int64(flow.nodes.count)),
            ],
            status: submission.isExisting ? .ok : .created,
            fields: [.location: "\(request.baseURL)\(Self.root)/flows/\(submission.id)"])
    }

    /// Checks each node and callback as a command of its own. It blocks.
    private func flow(_ bytes: [UInt8], _ policy: SubmitPolicy) throws(Problem) -> FlowDraft {
        var document: FlowDocument
        do throws(FlowDocumentError) { document = try FlowDocument(parsing: bytes, file: nil) } catch {
            throw Self.refusal(error.description)
        }
        for index in document.nodes.indices { try admit(&document.nodes[index], policy) }
        for index in document.callbacks.indices { try admit(&document.callbacks[index].node, policy) }
        let flow: FlowDraft
        do throws(FlowBuildError) {
            flow = try FlowBuilder { type in try registry(for: type) }.flow(document)
        } catch {
            if let problem = error.cause as? Problem { throw problem }
            let text = FlowDocumentError(
                file: nil, position: error.position, node: error.node, problem: "\(error.cause)")
            throw Self.refusal(text.description)
        }
        if flow.uniqueKey?.hasPrefix(RequestKey.prefix) == true {
            throw Self.refusal("a unique key does not begin with “\(RequestKey.prefix)”; send Idempotency-Key")
        }
        for node in flow.nodes { try policy.check(node.draft) }
        for callback in flow.callbacks { try policy.check(callback.draft) }
        return flow
    }

    private func admit(_ node: inout FlowDocument.Node, _ policy: SubmitPolicy) throws(Problem) {
        do throws(Problem) {
            node.payload = try policy.admit(type: node.type, payload: node.payload, isTemplate: true)
        } catch {
            var problem = error
            problem.detail = "Node “\(node.name.excerpt)”: \(error.detail)"
            throw problem
        }
    }

    private static func refusal(_ text: String) -> Problem { Problem(.badRequest, "invalid-flow", text.sentence) }
}

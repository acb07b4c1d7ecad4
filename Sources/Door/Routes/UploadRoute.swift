package import Commands
internal import FlowText

/// A route of `sluice.yaml`: what a finished upload becomes.
package struct UploadRoute: Sendable {
    /// The next step of a finished upload.
    enum Action: Sendable {
        /// It stays in the spool, listed.
        case none
        case command(RouteCommand)
        case flow(RouteFlow)
    }

    package let name: String
    let action: Action
    package var qos: QualityOfService?
    /// 0…1,000; nil: as the operation says. Of a command only.
    package var retryLimit: Int?
    /// Bytes of an upload; nil: as the door takes.
    package var maxSize: Int64?
    /// How long the bytes are kept after the success of the command or flow. The default is zero.
    package var retention: Duration = .zero
    var uniqueKey: RouteTemplate?
    var orderingKey: RouteTemplate?

    init(name: String, action: Action) {
        self.name = name
        self.action = action
    }

    package static func isName(_ text: String) -> Bool { RateLimit.isName(text) }
    /// For messages.
    package static let nameForm = RateLimit.nameForm

    /// Whether a finished upload becomes a command or a flow.
    package var becomesCommand: Bool { if case .none = action { false } else { true } }

    /// Whether the SHA-256 of the bytes is needed: a template has it, or a unique key tells equal uploads by it.
    package var needsDigest: Bool { uniqueKey != nil || placeholders.contains(.sha256) }

    /// The types of its commands, each once, in the order of the configuration.
    package var types: [String] {
        switch action {
        case .none: []
        case .command(let command): [command.type]
        case .flow(let flow): flow.types
        }
    }

    /// ``RoutePayload/replacesByName`` of one of its commands. A unique key refuses the second file instead.
    package var replacesByName: Bool {
        switch action {
        case .none: false
        case .command(let command): uniqueKey == nil && command.payload.replacesByName
        case .flow(let flow): uniqueKey == nil && flow.replacesByName
        }
    }

    var placeholders: Set<RoutePlaceholder> {
        let templates = [uniqueKey, orderingKey].compactMap(\.self).flatMap(\.placeholders)
        switch action {
        case .none: return Set(templates)
        case .command(let command): return Set(templates + command.payload.placeholders)
        case .flow(let flow): return Set(templates + flow.placeholders)
        }
    }
}

extension UploadRoute {
    /// The facts of an upload that has all that the route asks for, to check the route before the first upload.
    /// - Parameters:
    ///   - file: a file that can be read: operations look at it.
    ///   - metadata: values by their keys; others of the route's keys get the value `sample`.
    package func sample(
        file: String, name: String, contentType: String?, metadata: [String: String]
    ) -> RouteFacts {
        var facts = RouteFacts(id: CommandID())
        facts.file = file
        facts.name = name
        facts.contentType = contentType
        facts.metadata = metadata
        facts.token = "0000000000"
        facts.size = 0
        facts.sha256 = [UInt8](repeating: 0, count: 32)
        for case .metadata(let key) in placeholders where metadata[key] == nil { facts.metadata[key] = "sample" }
        return facts
    }
}

extension UploadRoute {
    /// The route for programs. It has no payloads: these may have parts that only the operator of the door knows.
    package var members: [JSONValue.Member] {
        [
            .init("name", .string(name)), .init("becomes", .string(kind)),
            .init("types", .array(types.map { .string($0) })), .init("qos", qos.map { .string($0.name) } ?? .null),
            .init("maxSize", maxSize.map { .integer($0) } ?? .null),
            // Seconds.
            .init("retention", becomesCommand ? .integer(retention.components.seconds) : .null),
            .init("retryLimit", retryLimit.map { .integer(Int64($0)) } ?? .null),
            .init("uniqueKey", uniqueKey.map { .string($0.text) } ?? .null),
            .init("orderingKey", orderingKey.map { .string($0.text) } ?? .null),
        ]
    }

    private var kind: String {
        switch action {
        case .none: "stored"
        case .command: "command"
        case .flow: "flow"
        }
    }

    /// The command or flow of a finished upload, in a few words.
    package var summary: String {
        switch action {
        case .none: "stays in the spool"
        case .command(let command): command.type
        case .flow(let flow):
            "flow \(flow.document.name) (\(flow.document.nodes.count) \(flow.document.nodes.count == 1 ? "node" : "nodes"))"
        }
    }
}

/// The command of a route.
struct RouteCommand: Sendable {
    let type: String
    let payload: RoutePayload
    /// idempotent, destination, limit, deadline and notBefore, as in a line of bulk submit.
    let options: [JSONValue.Member]

    /// Whether the operation sends a file, and can delete it once the destination has it.

    static func takesFile(_ type: String) -> Bool { type == CommandType.upload || type == CommandType.s3 }

    /// - Parameter payload: without `file`, an upload sends the bytes of the route.
    /// - Throws: ``RouteTemplateError`` with its place below “payload”.
    init(type: String, payload: JSONValue, options: [JSONValue.Member]) throws(RouteTemplateError) {
        self.type = type
        self.options = options
        var payload = payload
        if Self.takesFile(type), var members = payload.members {
            guard payload["removeSource"] == nil else {
                throw RouteTemplateError(
                    pointer: "/removeSource",
                    problem: "remove “removeSource”: “retention” of the route says how long the file is kept")
            }
            if payload["file"] == nil { members.insert(.init("file", .string(RoutePlaceholder.file.text)), at: 0) }
            payload = .object(members)
        }
        self.payload = try RoutePayload(payload, type: type)
    }
}

/// The flow of a route.
struct RouteFlow: Sendable {
    let document: FlowDocument
    /// The payloads of the nodes, then of the callbacks.
    private let payloads: [RoutePayload]

    /// - Throws: ``RouteTemplateError`` that names the node.
    init(_ document: FlowDocument) throws(RouteTemplateError) {
        self.document = document
        var payloads: [RoutePayload] = []
        for node in document.nodes + document.callbacks.map(\.node) {
            do throws(RouteTemplateError) {
                payloads.append(try RoutePayload(node.payload, type: node.type))
            } catch {
                throw RouteTemplateError(problem: Self.problem(node, error))
            }
        }
        self.payloads = payloads
    }

    var types: [String] {
        var types: [String] = []
        for node in document.nodes + document.callbacks.map(\.node) where !types.contains(node.type) {
            types.append(node.type)
        }
        return types
    }

    var placeholders: [RoutePlaceholder] { payloads.flatMap(\.placeholders) }

    var replacesByName: Bool { payloads.contains(where: \.replacesByName) }

    /// - Throws: ``RouteTemplateError`` that names the node.
    func filled(_ facts: RouteFacts) throws(RouteTemplateError) -> FlowDocument {
        var document = document
        for index in document.nodes.indices {
            document.nodes[index].payload = try filled(document.nodes[index], payloads[index], facts)
        }
        for index in document.callbacks.indices {
            let payload = payloads[document.nodes.count + index]
            document.callbacks[index].node.payload = try filled(document.callbacks[index].node, payload, facts)
        }
        return document
    }

    private func filled(
        _ node: FlowDocument.Node, _ payload: RoutePayload, _ facts: RouteFacts
    ) throws(RouteTemplateError) -> JSONValue {
        do throws(RouteTemplateError) { return try payload.filled(facts) } catch {
            throw RouteTemplateError(problem: Self.problem(node, error))
        }
    }

    private static func problem(_ node: FlowDocument.Node, _ error: RouteTemplateError) -> String {
        "node “\(node.name)”: “payload\(error.pointer.replacing("/", with: "."))”: \(error.problem)"
    }
}

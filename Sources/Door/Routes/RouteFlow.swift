internal import Commands
internal import FlowText

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

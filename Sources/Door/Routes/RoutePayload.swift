internal import Commands

/// A payload whose strings are templates. Pure.
struct RoutePayload: Sendable, Equatable {
    private indirect enum Node: Sendable, Equatable {
        case value(JSONValue)
        case template(RouteTemplate)
        case array([Node])
        case object([(name: String, node: Node)])

        static func == (left: Node, right: Node) -> Bool {
            switch (left, right) {
            case (.value(let left), .value(let right)): left == right
            case (.template(let left), .template(let right)): left == right
            case (.array(let left), .array(let right)): left == right
            case (.object(let left), .object(let right)):
                left.elementsEqual(right) { $0.name == $1.name && $0.node == $1.node }
            default: false
            }
        }
    }

    /// Members of the payloads of built-in operations, and the form of their values.
    private static let contexts: [String: RouteTemplate.Context] = [
        "to": .url, "url": .url, "endpoint": .url, "presigned": .url, "file": .path, "bodyFile": .path,
        "stdinFile": .path, "directory": .path, "saveTo": .path, "name": .name, "key": .key,
        "arguments": .argument,
    ]
    /// Members with content of any form, in which ``contexts`` does not hold.
    private static let free: Set<String> = ["data", "json", "environment", "values"]
    /// Members whose values become header fields: those of S3 metadata too.
    private static let headers: Set<String> = ["headers", "metadata"]

    private let root: Node
    /// The method of the request where the payload names one.
    private let method: String?

    /// - Parameter type: of the command: the places of URLs and paths are known for built-in types. For others a text that
    ///   begins as a URL is one.
    /// - Throws: ``RouteTemplateError`` with the place of the text.
    init(_ payload: JSONValue, type: String) throws(RouteTemplateError) {
        method = payload["method"]?.string
        root = try Self.node(payload, key: "", pointer: "", isFree: !CommandType.builtIn.contains(type))
    }

    private static func node(
        _ value: JSONValue, key: String, pointer: String, isFree: Bool, isHeader: Bool = false
    ) throws(RouteTemplateError) -> Node {
        switch value {
        case .string(let text):
            guard text.utf8.contains(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }) else {
                return .value(value)
            }
            do throws(RouteTemplateError) {
                return .template(try RouteTemplate(text, context(of: text, key, isFree: isFree, isHeader: isHeader)))
            } catch {
                throw RouteTemplateError(pointer: pointer, problem: error.problem)
            }
        case .array(let elements):
            var nodes: [Node] = []
            for (index, element) in elements.enumerated() {
                nodes.append(
                    try node(element, key: key, pointer: "\(pointer)/\(index)", isFree: isFree, isHeader: isHeader))
            }
            return .array(nodes)
        case .object(let members):
            var nodes: [(name: String, node: Node)] = []
            for member in members {
                let name = member.name.replacing("~", with: "~0").replacing("/", with: "~1")
                nodes.append(
                    (
                        member.name,
                        try node(
                            member.value, key: member.name, pointer: "\(pointer)/\(name)",
                            isFree: isFree || free.contains(member.name),
                            isHeader: isHeader || !isFree && headers.contains(member.name))
                    ))
            }
            return .object(nodes)
        case .null, .bool, .integer, .number, .decimal: return .value(value)
        }
    }

    private static func context(
        of text: String, _ key: String, isFree: Bool, isHeader: Bool
    ) -> RouteTemplate.Context {
        if isHeader { return .header }
        let isURL = Self.beginsAsURL(text)
        if isFree { return isURL ? .url : .text }
        switch contexts[key] {
        // Both may be a path of this machine, or a URL.
        case .url? where text.utf8.first == .slash: return .path
        case .path? where isURL: return .url
        case let context?: return context
        case nil: return .text
        }
    }

    private static func beginsAsURL(_ text: String) -> Bool {
        let scheme = text.utf8.prefix {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
        let rest = text.utf8.dropFirst(scheme.count)
        return !scheme.isEmpty
            && (rest.starts(with: "://".utf8) || String(scheme)?.lowercased() == "file" && rest.starts(with: ":/".utf8))
    }

    var placeholders: [RoutePlaceholder] {
        func all(_ node: Node) -> [RoutePlaceholder] {
            switch node {
            case .value: []
            case .template(let template): template.placeholders
            case .array(let nodes): nodes.flatMap(all)
            case .object(let members): members.flatMap { all($0.node) }
            }
        }
        return all(root)
    }

    /// Members that name what a command writes. `name` is a name at the destination of an upload.
    private static let targets: Set<String> = ["to", "key", "saveTo", "name"]

    /// Whether two files of one name, from different folders, would get one target, where the later replaces the earlier.
    var replacesByName: Bool {
        func targets(_ node: Node, _ key: String) -> [RouteTemplate] {
            switch node {
            case .value: []
            case .template(let template): Self.targets.contains(key) ? [template] : []
            case .array(let nodes): nodes.flatMap { targets($0, key) }
            case .object(let members):
                members.filter { !Self.free.contains($0.name) }.flatMap { targets($0.node, $0.name) }
            }
        }
        let placeholders = targets(root, "").flatMap(\.placeholders)
        // A POST makes another resource.
        return method?.uppercased() != "POST" && placeholders.contains(.name)
            && [.path, .id, .sha256].allSatisfy { !placeholders.contains($0) }
    }

    /// - Throws: ``RouteTemplateError`` with the place of the text.
    func filled(_ facts: RouteFacts) throws(RouteTemplateError) -> JSONValue { try Self.fill(root, facts, "") }

    private static func fill(
        _ node: Node, _ facts: RouteFacts, _ pointer: String
    ) throws(RouteTemplateError) -> JSONValue {
        switch node {
        case .value(let value): return value
        case .template(let template):
            do throws(RouteTemplateError) {
                return .string(try template.filled(facts))
            } catch {
                throw RouteTemplateError(pointer: pointer, problem: error.problem)
            }
        case .array(let nodes):
            var values: [JSONValue] = []
            for (index, node) in nodes.enumerated() { values.append(try fill(node, facts, "\(pointer)/\(index)")) }
            return .array(values)
        case .object(let members):
            var values: [JSONValue.Member] = []
            for member in members {
                let name = member.name.replacing("~", with: "~0").replacing("/", with: "~1")
                values.append(.init(member.name, try fill(member.node, facts, "\(pointer)/\(name)")))
            }
            return .object(values)
        }
    }
}

import Commands

/// Payloads as JSON text, and the results of other commands.
enum Payloads {
    static func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

    static func template(_ text: String) throws -> PayloadTemplate { try PayloadTemplate(json(text)) }

    /// Resolves a payload.
    /// - Parameter results: by the text of the source.
    static func resolve(
        _ text: String, nodes: [String] = [], maxBytes: Int = 1 << 20, _ results: [String: JSONValue]
    ) throws -> String {
        try template(text).resolved(nodes: nodes, maxBytes: maxBytes) { results[$0.description] }.text
    }

    /// The sentence with which resolving ends; nil where it succeeds.
    static func failure(
        _ text: String, nodes: [String] = [], maxBytes: Int = 1 << 20, _ results: [String: JSONValue]
    ) throws -> String? {
        let template = try template(text)
        do {
            _ = try template.resolved(nodes: nodes, maxBytes: maxBytes) { results[$0.description] }
            return nil
        } catch {
            return error.description
        }
    }
}

package import Commands

/// Events as lines of text, for a terminal that moves no cursor: what happens to commands, and each change of a link or of a
/// worker. Pure.
package struct EventText: Sendable {
    /// The last line about each link and worker, by topic: they are published again and again.
    private var last: [String: String] = [:]

    package init() {}

    /// - Returns: nil for an event that repeats the one before, and for a measurement.
    package mutating func line(topic: String, body: JSONValue) -> String? {
        let kind = topic.prefix { $0 != "/" }
        let name = topic.dropFirst(kind.count + 1)
        let reason = body["reason"]?.string.map { ": \($0)" } ?? ""
        let words: String
        switch kind {
        case "status":
            guard body["snapshot"] == nil, let status = body["status"]?.string else { return nil }
            let facts = [body["type"]?.string, body["destination"]?.string].compactMap(\.self)
            words = ([String(name), status] + facts).joined(separator: " ") + reason
        case "link":
            guard let level = body["level"]?.string else { return nil }
            words = "link \(name) \(body["direction"]?.string ?? "") \(level)\(reason)"
            guard isNews(words, of: "\(topic) \(body["direction"]?.string ?? "")") else { return nil }
        case "worker":
            guard let state = body["state"]?.string else { return nil }
            words = "worker \(name) \(state), pid \(body["pid"]?.integer ?? 0)"
            guard isNews(words, of: topic) else { return nil }
        default: return nil
        }
        let at = body["at"]?.string.map { $0.prefix(19).suffix(8) } ?? ""
        return TerminalText.plain("\(at) \(words)")
    }

    private mutating func isNews(_ words: String, of topic: String) -> Bool {
        guard last[topic] != words else { return false }
        last[topic] = words
        return true
    }
}

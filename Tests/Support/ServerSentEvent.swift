/// A frame of `text/event-stream` (HTML, section 9.2.6).
package struct ServerSentEvent: Sendable, Equatable {
    /// Nil where neither this frame nor one before it has an id.
    package var id: String?
    /// `message` for a frame without a name.
    package var name: String
    package var data: String

    /// The complete frames of a text that have data.
    package static func parse(_ text: String) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        var id: String?
        var (name, data) = ("message", [String]())
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            guard !line.isEmpty else {
                if !data.isEmpty {
                    events.append(ServerSentEvent(id: id, name: name, data: data.joined(separator: "\n")))
                }
                (name, data) = ("message", [])
                continue
            }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count < 2 ? "" : String(parts[1].first == " " ? parts[1].dropFirst() : parts[1])
            switch parts[0] {
            case "id": id = value
            case "event": name = value
            case "data": data.append(value)
            default: break
            }
        }
        return events
    }

    /// The id of the last complete frame, also of one without data.
    package static func lastID(_ text: String) -> String? {
        guard let end = text.lastIndex(of: "\n\n") else { return nil }
        guard let start = text[..<end].lastIndex(of: "\nid: ") else { return nil }
        return String(text[text.index(start, offsetBy: 5)...].prefix { $0 != "\n" })
    }
}

extension StringProtocol {
    /// The start of the last occurrence of a text.
    fileprivate func lastIndex(of text: String) -> Index? {
        let pattern = Array(text.utf8)
        var index = utf8.endIndex
        while index > utf8.startIndex {
            index = utf8.index(before: index)
            if utf8[index] == pattern[0], utf8[index...].starts(with: pattern) { return index }
        }
        return nil
    }
}

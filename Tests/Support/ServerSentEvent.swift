internal import Foundation

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
        guard let end = text.range(of: "\n\n", options: [.backwards, .literal]),
            let start = text[..<end.lowerBound].range(of: "\nid: ", options: [.backwards, .literal])
        else { return nil }
        return String(text[start.upperBound...].prefix { $0 != "\n" })
    }
}

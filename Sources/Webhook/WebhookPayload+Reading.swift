internal import Commands
internal import HTTPClient
internal import Operations
internal import Transfers

extension WebhookPayload {
    private static let keys = "“url”, “type”, “data”, “time”, “body”, “endpoint”, “id” and “confined”"

    /// Reads and checks the payload.
    init(_ value: JSONValue) throws(PayloadError) {
        var reader = try PayloadReader(value, of: "a webhook", keys: Self.keys)
        let url = try ResourceURL(try reader.text("url", isRequired: true) ?? "")
        guard url.scheme != .file else { throw PayloadError(.usage, "“url” must be an https URL, not a file: URL") }
        self.init(url: url, content: try Self.content(&reader))
        if let text = try reader.text("endpoint") {
            endpoint = try Self.word(text, of: "endpoint", "letters, digits, underscores and hyphens", 64, extra: "_-")
        }
        if let text = try reader.text("id") {
            // A dot would make two different messages have the same signed bytes.
            let form = "letters, digits, underscores and hyphens, without a dot"
            id = try Self.word(text, of: "id", form, Self.maxIDLength, extra: "_-")
        }
        isConfined = try reader.flag("confined") ?? false
        try reader.finish()
    }

    private static func content(_ reader: inout PayloadReader) throws(PayloadError) -> Content {
        if let body = try reader.text("body") {
            for key in ["type", "data", "time"] where reader.take(key) != nil {
                throw PayloadError(.data, "“body” is the whole message; leave out “\(key)”")
            }
            _ = try WebhookBody.checked(Array(body.utf8))
            return .body(body)
        }
        guard let type = try reader.text("type") else {
            throw PayloadError(.data, "the payload of a webhook needs “type” (with “data”), or “body”")
        }
        _ = try word(
            type, of: "type", "letters, digits, underscores and dots, as in “upload.done”", maxTypeLength, extra: "_.")
        let data = reader.take("data") ?? .null
        let time = try reader.take("time").map { value throws(PayloadError) in try Self.time(value) }
        // The time of the submit has the length of this one.
        _ = try WebhookBody.event(type: type, time: time ?? Timestamp.zero.description, data: data.bytes)
        return .event(type: type, data: data, time: time)
    }

    private static func time(_ value: JSONValue) throws(PayloadError) -> String {
        if let text = value.string, Timestamp(rfc3339: text) != nil { return text }
        guard let milliseconds = value.integer else {
            throw PayloadError(
                .data, "“time” must be RFC 3339, as in “2025-11-13T02:13:20Z”, or Unix time in milliseconds")
        }
        return Timestamp(milliseconds: milliseconds).description
    }

    /// - Parameter extra: the characters that are allowed beside letters and digits.
    private static func word(
        _ text: String, of key: String, _ form: String, _ maxLength: Int, extra: String
    ) throws(PayloadError) -> String {
        guard (1...maxLength).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isLetter || $0.isDigit || extra.utf8.contains($0) })
        else {
            throw PayloadError(
                .data, "“\(key)” is “\(SingleLine.text(text, limit: 80))”; it has 1 to \(maxLength) \(form)")
        }
        return text
    }
}

internal import Commands
internal import HTTPClient
internal import Operations
internal import Transfers

/// The payload of a `webhook`, checked.
///
/// ```
/// {"url": "https://example.com/hooks",        the receiver
///  "type": "upload.done",                     the event: letters, digits, underscores and dots
///  "data": {"id": "a"},                       any JSON; null by default
///  "time": "2025-11-13T02:13:20Z",            of the event: RFC 3339 or Unix milliseconds; by default the submit
///  "body": "…",                               instead of type, data and time: text that is sent as it is
///  "endpoint": "billing",                     the name of secrets, headers and timeout in sluice.yaml
///  "id": "msg_01998b5e",                      the message: letters, digits, _ and -; or msg_<UUID>
///  "confined": false}                         whether ``Confinement`` holds
/// ```
///
/// Each execution makes body and id by ``prepared(for:now:)`` from facts that do not change: the command's id
/// and the time of its submit. So every attempt sends the same bytes.
struct WebhookPayload: Sendable, Equatable {
    enum Content: Sendable, Equatable {
        /// - Parameter time: RFC 3339; nil: the time of the submit.
        case event(type: String, data: JSONValue, time: String?)
        case body(String)
    }

    static let maxIDLength = 128
    static let maxTypeLength = 256

    var url: ResourceURL
    var content: Content
    var endpoint: String?
    var id: String?
    var isConfined = false

    init(url: ResourceURL, content: Content) {
        self.url = url
        self.content = content
    }

    /// Receivers drop a message whose id they have seen, so it may always be sent again.
    var isIdempotent: Bool { true }

    /// The payload with the body and the id that every attempt uses.
    /// - Parameters:
    ///   - command: the id of the command.
    ///   - now: the time of the submit.
    func prepared(for command: CommandID, now: Timestamp) throws(PayloadError) -> WebhookPayload {
        var prepared = self
        if id == nil { prepared.id = "msg_\(command)" }
        if case .event(let type, let data, let time) = content {
            let body = try WebhookBody.event(type: type, time: time ?? now.description, data: data.bytes)
            prepared.content = .body(String(decoding: body, as: UTF8.self))
        }
        return prepared
    }

    /// The bytes to send; nil before ``prepared(for:now:)``.
    var body: [UInt8]? { if case .body(let text) = content { Array(text.utf8) } else { nil } }

    /// Whether the URL may be used. Without TLS each router on the path reads and changes messages.
    /// - Parameter allowsPlain: an endpoint in sluice.yaml has this origin.
    /// - Returns: why not, in a sentence; nil where it may.
    func objection(allowsPlain: Bool) -> String? {
        guard url.scheme == .http, !allowsPlain else { return nil }
        return "“\(url.displayText)” is not encrypted; use https, or name its origin for an endpoint in sluice.yaml"
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("url", .string(url.text))]
        if let id { members.append(.init("id", .string(id))) }
        switch content {
        case .event(let type, let data, let time):
            members += [.init("type", .string(type)), .init("data", data)]
            if let time { members.append(.init("time", .string(time))) }
        case .body(let text): members.append(.init("body", .string(text)))
        }
        if let endpoint { members.append(.init("endpoint", .string(endpoint))) }
        if isConfined { members.append(.init("confined", true)) }
        return .object(members)
    }

    /// The part of the payload by which two commands under one unique key are equal: as it was given, because
    /// id and time are made anew at each submit.
    var identity: JSONValue { json }
}

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

/// The body of a message, of which each attempt signs and sends the same bytes.
enum WebhookBody {
    /// The maximum length in bytes. Standard Webhooks advises less than 20 kB.
    static let maxLength = 256 << 10

    /// The minified event `{"type","timestamp","data"}`.
    /// - Parameters:
    ///   - time: RFC 3339.
    ///   - data: the bytes of a JSON text; they are not changed.
    static func event(type: String, time: String, data: [UInt8]) throws(PayloadError) -> [UInt8] {
        var writer = JSONWriter(capacity: data.count + 128)
        writer.beginObject()
        writer.member("type", type)
        writer.member("timestamp", time)
        writer.name("data")
        writer.json(data)
        writer.endObject()
        return try checked(writer.bytes)
    }

    /// - Throws: ``PayloadError`` where the body is too long.
    static func checked(_ body: [UInt8]) throws(PayloadError) -> [UInt8] {
        guard body.count <= maxLength else {
            throw PayloadError(
                .data,
                "the body of the webhook has \(body.count) bytes; the maximum is \(maxLength), and less than 20 kB is "
                    + "advised: send the URL of the data instead")
        }
        return body
    }
}

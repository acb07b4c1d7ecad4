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

package import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1

/// The stored form of a successful response: `{"status": 201, "headers": {"etag": …}, "body": …}`.
///
/// `body` is text where the response is UTF-8 without control characters, otherwise base64 with
/// `"bodyEncoding": "base64"`. A whole body of a JSON media type is in `json` too, as a value, for references to its members.
/// `"bodyTruncated": true` means that more than 64 KiB arrived, and `"bodyCut": true` that less arrived than was
/// announced: an operation whose purpose is the answer fails then, and others say so. `"decoded": "gzip"` names the
/// content coding that was taken off the body, or off the saved file. `sourceRemoved` is present
/// where removal was requested, with `sourceProblem` where it failed, and `"unverified": true` where the destination
/// has not confirmed that it holds the file.
package enum HTTPResult {
    /// The header fields that are stored.
    static let keptHeaders = [
        "etag", "location", "content-location", "content-type", "last-modified", "server", "date", "x-request-id",
        "repr-digest", "link", "retry-after", "content-range", "age", "cache-control", "expires", "vary",
        "content-encoding",
    ]
    /// The maximum characters of a stored header value.
    static let headerLimit = 2048

    /// The parts of a result beside the response.
    package struct Extras: Sendable {
        /// Names of header fields in lower case, beside ``keptHeaders``. Those that hold secrets are not kept.
        package var keepHeaders: [String] = []
        /// The last URL, where a redirect was followed.
        package var url: String?
        /// A DELETE found that an earlier execution had deleted the resource.
        package var alreadyGone = false
        package var removal: SourceRemovalResult?
        /// The file with the body, which is then not in the result.
        package var saved: JSONValue?
        /// The id of the message that a webhook sent.
        package var message: String?
        /// Whether an answer of JSON is kept as a value too.
        var keepsValue = true
        /// The number of the execution that succeeded.
        package var attempts: Int?

        package init() {}

        package init(
            keepHeaders: [String] = [], url: String? = nil, alreadyGone: Bool = false,
            removal: SourceRemovalResult? = nil, saved: JSONValue? = nil, message: String? = nil,
            keepsValue: Bool = true, attempts: Int? = nil
        ) {
            self.keepHeaders = keepHeaders
            self.url = url
            self.alreadyGone = alreadyGone
            self.removal = removal
            self.saved = saved
            self.message = message
            self.keepsValue = keepsValue
            self.attempts = attempts
        }
    }

    static func json(_ record: HTTPRecord, _ extras: Extras) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        if let head = record.head {
            writer.member("status", Int(head.status.code))
            let fields = HeaderFields(head.headers)
            writer.member("headers", headers(fields, extras.keepHeaders))
            let type = extras.keepsValue ? fields.first("content-type") : nil
            if extras.saved == nil { body(record, type: type, &writer) }
            if let coding = record.decoded { writer.member("decoded", coding) }
        }
        if let url = extras.url { writer.member("url", url) }
        if extras.alreadyGone { writer.member("alreadyGone", true) }
        if let saved = extras.saved { writer.member("saved", saved) }
        extras.removal?.write(to: &writer)
        if let message = extras.message { writer.member("message", message) }
        if let attempts = extras.attempts { writer.member("attempts", attempts) }
        writer.endObject()
        return writer.bytes
    }

    /// - Parameter more: names in lower case, beside ``keptHeaders``.
    package static func headers(_ headers: HeaderFields, _ more: [String] = []) -> JSONValue {
        let more = more.filter { !keptHeaders.contains($0) && !HTTPHeaderRedaction.isSecret($0) }
        return .object(
            (keptHeaders + more).compactMap { name in
                guard let value = headers.first(name) else { return nil }
                return JSONValue.Member(name, .string(String(value.prefix(headerLimit))))
            })
    }

    private static func body(_ record: HTTPRecord, type: String?, _ writer: inout JSONWriter) {
        var bytes = record.body.readableBytesView[...]
        let isTruncated = record.bodyBytes > record.body.readableBytes || record.hasEnough
        let isCut = !record.isComplete && !record.hasEnough
        if record.bodyBytes > record.body.readableBytes {
            bytes = bytes.dropLast(Self.cutCharacter(bytes.suffix(4)))
        }
        let text = text(of: bytes)
        // Where the body is not text, nothing is cut at a character.
        writer.member("body", text ?? Base64.encode(record.body.readableBytesView))
        if text == nil { writer.member("bodyEncoding", "base64") }
        if isTruncated { writer.member("bodyTruncated", true) }
        if isCut { writer.member("bodyCut", true) }
        if let text, !isTruncated, !isCut, let value = value(of: text, type: type) { writer.member("json", value) }
    }

    /// The value of a body.
    /// - Parameter type: its media type.
    /// - Returns: nil for another media type than `application/json`, `text/json` or one with the suffix `+json` (RFC 6839),
    ///   and for text that is not JSON, or that could not be read again within a result.
    package static func value(of body: String, type: String?) -> JSONValue? {
        guard isJSON(type: type) else { return nil }
        // In its result it is one level deeper.
        let isShallow = (try? JSONValue(parsing: Array("[\(body)]".utf8))) != nil
        return isShallow ? try? JSONValue(parsing: Array(body.utf8)) : nil
    }

    package static func isJSON(type: String?) -> Bool {
        let name = type?.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased() ?? ""
        return name == "application/json" || name == "text/json" || name.hasSuffix("+json")
    }

    /// A body as text; nil where it is not UTF-8, or has control characters.
    package static func text(of body: some Collection<UInt8>) -> String? {
        guard body.allSatisfy({ $0 >= 0x20 || (9...13).contains($0) }) else { return nil }
        return String(validating: body, as: UTF8.self)
    }

    /// The number of bytes at the end that belong to an incomplete UTF-8 character.
    package static func cutCharacter(_ end: some BidirectionalCollection<UInt8>) -> Int {
        var count = 0
        for byte in end.reversed() {
            count += 1
            if byte & 0xC0 == 0x80 { continue }
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return count < length ? count : 0
        }
        return 0
    }
}

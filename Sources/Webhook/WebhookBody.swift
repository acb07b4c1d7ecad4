internal import Commands
internal import Operations

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

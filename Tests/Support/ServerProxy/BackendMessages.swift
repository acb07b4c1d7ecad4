/// Divides the bytes of a PostgreSQL server into messages (manual, “Message Formats”): a type, a length that counts itself,
/// and a body. Pure.
package struct BackendMessages: Sendable {
    private var buffer: [UInt8] = []
    /// Answers of one byte without a length that are due: to requests for TLS or GSSAPI encryption.
    private var negotiations = 0
    /// The rest is encrypted.
    package private(set) var isEncrypted = false

    package init() {}

    /// The client has asked for encryption.
    package mutating func expectNegotiation() { negotiations += 1 }

    /// Takes bytes in their order.
    /// - Returns: the complete messages. Encrypted bytes are returned as they come.
    package mutating func receive(_ bytes: some Sequence<UInt8>) -> [[UInt8]] {
        buffer += bytes
        var messages: [[UInt8]] = []
        var start = 0
        while start < buffer.count {
            let length: Int
            if isEncrypted {
                length = buffer.count - start
            } else if negotiations > 0 {
                negotiations -= 1
                length = 1
                isEncrypted = buffer[start] == UInt8(ascii: "S") || buffer[start] == UInt8(ascii: "G")
            } else {
                guard start + 5 <= buffer.count else { break }
                length = 1 + buffer[(start + 1)..<(start + 5)].reduce(0) { $0 << 8 | Int($1) }
                guard start + length <= buffer.count else { break }
            }
            messages.append(Array(buffer[start..<(start + length)]))
            start += length
        }
        buffer.removeFirst(start)
        return messages
    }

    /// The tag of a message CommandComplete, such as `COMMIT`; nil for another message.
    package static func tag(of message: [UInt8]) -> String? {
        guard message.count > 5, message[0] == UInt8(ascii: "C"), message.last == 0 else { return nil }
        return String(decoding: message[5..<(message.count - 1)], as: UTF8.self)
    }

    /// Whether the first bytes of a client ask for encryption: SSLRequest or GSSENCRequest.
    package static func isNegotiation(_ bytes: [UInt8]) -> Bool {
        bytes == [0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x2F] || bytes == [0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x30]
    }
}

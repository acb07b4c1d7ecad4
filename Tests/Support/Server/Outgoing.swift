internal import NIOCore

/// The bytes that remain to be sent to a client, in pieces.
struct Outgoing {
    private struct Part {
        var content: ScriptAnswer.Body
        var drip: ScriptDrip?
        var isChunked = false
        var sent = 0
    }

    struct Piece {
        var bytes: ByteBuffer
        /// The pause before the next piece.
        var pause: Duration?
    }

    /// The size of a piece without a drip, in bytes.
    private static let piece = 64 << 10

    private var parts: [Part] = []

    init(_ bytes: [UInt8], drip: ScriptDrip?) { add(.text(bytes), drip) }

    /// The bytes of a response.
    /// - Parameters:
    ///   - method: the method of the request, which may forbid a body.
    ///   - replacing: replaces the `{…}` of a text.
    init(_ answer: ScriptAnswer, to method: String, replacing: (String) -> String) {
        let head = answer.head(replacing: replacing)
        let isWithoutBody = answer.isWithoutBody(to: method)
        let body = isWithoutBody ? .text([]) : answer.body(replacing: replacing)
        if case .chunked(let isEnded) = answer.framing, !isWithoutBody {
            add(.text(head), answer.headDrip)
            add(body, answer.bodyDrip, isChunked: true)
            if isEnded { add(.text(Array("0\r\n\r\n".utf8)), nil) }
        } else if case .text(let text) = body, answer.headDrip == nil, answer.bodyDrip == nil {
            add(.text(head + text), nil)
        } else {
            add(.text(head), answer.headDrip)
            add(body, answer.bodyDrip)
        }
    }

    private mutating func add(_ content: ScriptAnswer.Body, _ drip: ScriptDrip?, isChunked: Bool = false) {
        guard content.count > 0 else { return }
        parts.append(Part(content: content, drip: drip, isChunked: isChunked))
    }

    /// The next piece; nil at the end.
    mutating func next() -> Piece? {
        guard let part = parts.first else { return nil }
        let count = min(part.drip?.size ?? Self.piece, part.content.count - part.sent)
        var bytes = ByteBuffer()
        if part.isChunked { bytes.writeString("\(String(count, radix: 16))\r\n") }
        switch part.content {
        case .text(let text): bytes.writeBytes(text[part.sent..<part.sent + count])
        case .filler: bytes.writeRepeatingByte(UInt8(ascii: "x"), count: count)
        }
        if part.isChunked { bytes.writeString("\r\n") }
        parts[0].sent += count
        let isOver = parts[0].sent == part.content.count
        if isOver { parts.removeFirst() }
        return Piece(bytes: bytes, pause: parts.isEmpty ? nil : part.drip?.interval)
    }
}

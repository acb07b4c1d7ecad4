internal import NIOCore

/// Measures response heads (RFC 9112, section 4) and reads their first lines, without storing the bytes. The
/// parser behind it stops at its own limits without reporting the status; the scanner knows it. Pure.
struct ResponseHeadScanner: Sendable, Equatable {
    /// The maximum bytes of a head. Each interim head may have as many.
    static let maxHead = 64 << 10

    /// The maximum bytes of a first line that are stored.
    private static let maxFirstLine = 1024

    private enum Position: Sendable, Equatable {
        /// Between two responses, or in a body.
        case outside
        case head
    }

    /// How far a scan came.
    enum Scan: Sendable, Equatable {
        /// All bytes belong to a head that has not ended.
        case unended
        /// A head ends after this number of bytes.
        case ended(Int)
        /// The head is longer than ``maxHead``.
        case tooLarge
    }

    private var position = Position.outside
    private var length = 0
    /// `HTTP/1.1 201 Created`, as far as it has arrived.
    private var firstLine: [UInt8] = []
    private var isFirstLine = true
    /// The current line has no bytes so far.
    private var isEmptyLine = true

    /// Expects a response from the next byte on.
    mutating func expectResponse() { self = ResponseHeadScanner(position: .head) }

    init() { self.init(position: .outside) }

    private init(position: Position) { self.position = position }

    /// Whether the next byte belongs to a head.
    var isExpectingHead: Bool { position == .head }

    /// Whether the first line begins as that of HTTP/1, as far as it has arrived.
    var mayBeHTTP: Bool { firstLine.starts(with: "HTTP/1.".utf8.prefix(firstLine.count)) }

    /// Whether a head has begun and not ended.
    var isInHead: Bool { position == .head && length > 0 }

    /// The status of the current or last head; nil where its first line is not HTTP.
    var status: Int? {
        let prefix = Array("HTTP/1.".utf8)
        guard firstLine.count >= 12, firstLine.starts(with: prefix), firstLine[8] == UInt8(ascii: " ") else {
            return nil
        }
        let digits = firstLine[9..<12]
        guard digits.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
            firstLine.count == 12 || firstLine[12] == UInt8(ascii: " ")
        else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// The server's words behind the status; empty where there are none.
    var reasonPhrase: String {
        let bytes = firstLine.dropFirst(13)
        // Old servers send Latin-1.
        return String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// Reads the next bytes of a head. After an interim response (1xx) another head follows.
    mutating func scan(_ bytes: some Sequence<UInt8>) -> Scan {
        var count = 0
        for byte in bytes {
            count += 1
            length += 1
            if length > Self.maxHead { return .tooLarge }
            if byte == UInt8(ascii: "\n") {
                if isEmptyLine, !isFirstLine {
                    let isInterim = status.map { (100..<200).contains($0) && $0 != 101 } ?? false
                    if isInterim { expectResponse() } else { position = .outside }
                    return .ended(count)
                }
                // Parsers skip empty lines before a status line, and so does this.
                if !isEmptyLine { isFirstLine = false }
                isEmptyLine = true
            } else if byte != UInt8(ascii: "\r") {
                isEmptyLine = false
                if isFirstLine, firstLine.count < Self.maxFirstLine { firstLine.append(byte) }
            }
        }
        return .unended
    }
}

/// Passes each response head on as a whole, so that what a server has written carelessly is mended
/// (``ResponseHeadRepair``) before the parser, which refuses it, sees it. Ends a connection whose head is too large.
final class ResponseHeadLimiter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    var scanner = ResponseHeadScanner()
    /// The part of the present head that has arrived.
    private var head = ByteBuffer()
    private var isOver = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        while !isOver, scanner.isExpectingHead, bytes.readableBytes > 0 {
            switch scanner.scan(bytes.readableBytesView) {
            case .unended:
                head.writeBuffer(&bytes)
                // The parser refuses the first bytes of another protocol, whose end may never come.
                if !scanner.mayBeHTTP { passHead(context) }
            case .ended(let count):
                if var rest = bytes.readSlice(length: count) { head.writeBuffer(&rest) }
                passHead(context)
            case .tooLarge:
                isOver = true
                context.fireErrorCaught(HTTPError.headTooLarge(status: scanner.status))
            }
        }
        if !isOver, bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
    }

    private func passHead(_ context: ChannelHandlerContext) {
        let mended = ResponseHeadRepair.mended(head.readableBytesView).map { ByteBuffer(bytes: $0) }
        let bytes = mended ?? head
        head = ByteBuffer()
        context.fireChannelRead(wrapInboundOut(bytes))
    }
}

/// Measures response heads (RFC 9112, section 4) and reads their first lines, without storing the bytes. The
/// parser behind it stops at its own limits without reporting the status; the scanner knows it. Pure.
struct ResponseHeadScanner: Sendable, Equatable {
    /// The maximum bytes of a head. Each interim head may have as many.
    static let maxHead = 64 << 10

    private enum Position: Sendable, Equatable {
        /// Between two responses, or in a body.
        case outside
        case head
    }

    private var position = Position.outside
    private var length = 0
    /// `HTTP/1.1 201`, as far as it has arrived.
    private var firstLine: [UInt8] = []
    private var isFirstLine = true
    /// The current line has no bytes so far.
    private var isEmptyLine = true

    /// Expects a response from the next byte on.
    mutating func expectResponse() { self = ResponseHeadScanner(position: .head) }

    init() { self.init(position: .outside) }

    private init(position: Position) { self.position = position }

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

    /// Reads the next bytes.
    /// - Returns: false where a head is longer than ``maxHead``.
    mutating func scan(_ bytes: some Sequence<UInt8>) -> Bool {
        guard position == .head else { return true }
        for byte in bytes {
            length += 1
            if length > Self.maxHead { return false }
            if byte == UInt8(ascii: "\n") {
                if isEmptyLine, !isFirstLine {
                    guard let status, (100..<200).contains(status), status != 101 else {
                        position = .outside
                        return true
                    }
                    // An interim response: another head follows.
                    self = ResponseHeadScanner(position: .head)
                    continue
                }
                // Parsers skip empty lines before a status line, and so does this.
                if !isEmptyLine { isFirstLine = false }
                isEmptyLine = true
            } else if byte != UInt8(ascii: "\r") {
                isEmptyLine = false
                if isFirstLine, firstLine.count < 13 { firstLine.append(byte) }
            }
        }
        return true
    }
}

internal import Commands
internal import HTTPClient
internal import HTTPTypes

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Divides a form into its parts while its bytes arrive (RFC 7578, RFC 2046). It holds one chunk of the body.
struct MultipartParser {
    enum Event: Equatable {
        case part(MultipartHead)
        /// Bytes of the part, in their order. Never empty.
        case bytes(ArraySlice<UInt8>)
        case partEnd
        /// The closing boundary. The text after it means nothing.
        case end
    }

    private enum State {
        case preamble, delimiter, head, body, ended
    }

    private let limits: MultipartLimits
    /// CRLF, two dashes and the boundary.
    private let delimiter: [UInt8]
    private var state = State.preamble
    private var parts = 0
    private var preamble = 0
    /// The bytes before ``position`` have been read.
    private var buffer: [UInt8]
    private var position = 0

    init(boundary: [UInt8], limits: MultipartLimits = MultipartLimits()) {
        self.limits = limits
        delimiter = Array("\r\n--".utf8) + boundary
        // The first boundary may be at the start of the body.
        buffer = [0x0D, 0x0A]
    }

    mutating func add(_ bytes: some Collection<UInt8>) {
        guard state != .ended else { return }
        // A new array: a caller may still hold a slice of the old one.
        var next: [UInt8] = []
        next.reserveCapacity(buffer.count - position + bytes.count)
        next.append(contentsOf: buffer[position...])
        next.append(contentsOf: bytes)
        buffer = next
        position = 0
    }

    /// - Returns: nil where more bytes are needed.
    /// - Throws: 400 for a malformed form, and for one beyond a limit.
    mutating func next() throws(Problem) -> Event? {
        while true {
            switch state {
            case .preamble:
                guard try skipPreamble() else { return nil }
            case .delimiter:
                guard let isEnd = try delimiterEnd() else { return nil }
                if isEnd { return .end }
            case .head: return try head().map { .part($0) }
            case .body: return bodyEvent()
            case .ended: return nil
            }
        }
    }

    private mutating func skipPreamble() throws(Problem) -> Bool {
        let end = search()
        preamble += end.index - position
        guard preamble <= limits.maxHead else {
            throw Self.refusal("does not begin with its boundary; send lines that end with CRLF")
        }
        position = end.index
        guard end.isWhole else { return false }
        position += delimiter.count
        state = .delimiter
        return true
    }

    private mutating func bodyEvent() -> Event? {
        let end = search()
        guard end.index == position else {
            let bytes = buffer[position..<end.index]
            position = end.index
            return .bytes(bytes)
        }
        guard end.isWhole else { return nil }
        position += delimiter.count
        state = .delimiter
        return .partEnd
    }

    /// Two dashes after the boundary close the form. Spaces and CRLF begin a part.
    /// - Returns: whether the form ends; nil where more bytes are needed.
    private mutating func delimiterEnd() throws(Problem) -> Bool? {
        let rest = buffer[position...]
        if rest.starts(with: "--".utf8) {
            state = .ended
            return true
        }
        let padding = rest.prefix { $0 == 0x20 || $0 == 0x09 }.count
        let end = rest.dropFirst(padding)
        if end.starts(with: [0x0D, 0x0A]) {
            position += padding + 2
            parts += 1
            guard parts <= limits.maxParts else {
                throw Self.refusal("has more than \(limits.maxParts) parts; send several forms")
            }
            state = .head
            return false
        }
        let mayFollow = end.isEmpty || end.elementsEqual([0x0D]) || padding == 0 && end.elementsEqual([0x2D])
        guard mayFollow, padding <= limits.maxHead else {
            throw Self.refusal("has a line that begins with its boundary and does not end with CRLF after it")
        }
        return nil
    }

    private mutating func head() throws(Problem) -> MultipartHead? {
        let rest = buffer[position...].prefix(limits.maxHead + 4)
        if rest.starts(with: [0x0D, 0x0A]) { throw Self.refusal("has a part without fields") }
        var index = rest.startIndex
        while let end = rest[index...].firstIndex(of: 0x0D) {
            if rest[end...].starts(with: [0x0D, 0x0A, 0x0D, 0x0A]) {
                let head = try MultipartHead(parsing: rest[..<(end + 2)])
                position = end + 4
                state = .body
                return head
            }
            index = end + 1
        }
        guard rest.count < limits.maxHead + 4 else {
            throw Self.refusal("has a part with more than \(limits.maxHead) bytes of fields")
        }
        return nil
    }

    /// Finds the delimiter.
    /// - Returns: where it begins; else where it may begin: the end of the bytes that are surely not part of it.
    private func search() -> (index: Int, isWhole: Bool) {
        buffer.withUnsafeBufferPointer { bytes in
            var index = position
            while index < bytes.count {
                guard let base = bytes.baseAddress, let found = memchr(base + index, 0x0D, bytes.count - index) else {
                    return (bytes.count, false)
                }
                index = UnsafeRawPointer(found) - UnsafeRawPointer(base)
                let count = min(delimiter.count, bytes.count - index)
                if bytes[index..<(index + count)].elementsEqual(delimiter[..<count]) {
                    return (index, count == delimiter.count)
                }
                index += 1
            }
            return (bytes.count, false)
        }
    }

    private static func refusal(_ reason: String) -> Problem {
        Problem(.badRequest, "invalid-form", "The form \(reason).")
    }
}

/// The bounds of a form (RFC 7578): each part costs memory before its bytes are read.
struct MultipartLimits: Equatable {
    /// RFC 2046, section 5.1.1.
    static let maxBoundary = 70

    var maxParts = 20
    /// Bytes of the fields of a part, and of the text before the first part.
    var maxHead = 8 << 10
    /// Bytes of a part without a file name.
    var maxField = 64 << 10
}

/// The boundary of a form (RFC 2046, section 5.1.1).
enum MultipartBoundary {
    /// - Throws: 400 for a `Content-Type` without a valid boundary.
    static func read(_ fields: HTTPFields) throws(Problem) -> [UInt8] {
        let text = fields[.contentType].flatMap { FieldParameters($0.utf8)?["boundary"] } ?? ""
        let boundary = Array(text.utf8)
        guard (1...MultipartLimits.maxBoundary).contains(boundary.count), boundary.allSatisfy(isPermitted),
            boundary.last != UInt8(ascii: " ")
        else {
            throw Problem(
                .badRequest, "invalid-form",
                "The Content-Type of a form states a boundary of 1 to 70 characters; send one.")
        }
        return boundary
    }

    private static func isPermitted(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "'()+_,-./:=? ".utf8.contains(byte)
    }
}

/// The fields of a part of a form (RFC 7578, section 4).
struct MultipartHead: Equatable {
    var name: String
    /// Text of the client. Browsers send an empty one where no file was chosen. Nil: the part is a field.
    var fileName: String?
    var contentType: String?

    init(name: String, fileName: String? = nil, contentType: String? = nil) {
        self.name = name
        self.fileName = fileName
        self.contentType = contentType
    }

    /// - Parameter bytes: lines that end with CRLF, without the empty one.
    init(parsing bytes: some Collection<UInt8>) throws(Problem) {
        var disposition: FieldParameters?
        for line in Self.lines(Array(bytes)) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line[..<colon].allSatisfy(\.isTokenCharacter),
                line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            else { throw Self.refusal("has a line that is not a field") }
            let value = line[(colon + 1)...]
            switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
            case "content-disposition":
                guard disposition == nil, let field = FieldParameters(value), field.value == "form-data" else {
                    throw Self.refusal("has no single Content-Disposition: form-data in UTF-8")
                }
                disposition = field
            case "content-type":
                guard contentType == nil, let text = String(validating: value, as: UTF8.self) else {
                    throw Self.refusal("has no single Content-Type in UTF-8")
                }
                contentType = text.trimmed
            case "content-transfer-encoding":
                let encoding = String(decoding: value, as: UTF8.self).trimmed.lowercased()
                guard ["7bit", "8bit", "binary"].contains(encoding) else {
                    throw Self.refusal("is encoded as “\(encoding.excerpt)”; send its bytes as they are")
                }
            default: break
            }
        }
        guard let disposition, let name = disposition["name"] else {
            throw Self.refusal("has no Content-Disposition: form-data with a name")
        }
        self.name = name
        fileName = DispositionFileName.read(disposition)
        if fileName == nil, contentType?.lowercased().hasPrefix("multipart/") == true {
            throw Self.refusal("has parts of its own; send each file as a part of the form (RFC 7578, section 4.3)")
        }
    }

    private static func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        for index in bytes.indices.dropFirst() where bytes[index] == 0x0A && bytes[index - 1] == 0x0D {
            lines.append(bytes[start..<(index - 1)])
            start = index + 1
        }
        if start < bytes.count { lines.append(bytes[start...]) }
        return lines
    }

    private static func refusal(_ reason: String) -> Problem {
        Problem(.badRequest, "invalid-form", "A part of the form \(reason).")
    }
}

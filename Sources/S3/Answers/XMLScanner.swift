/// Reads the small XML documents of S3 event by event (XML 1.0). Prefixes of namespaces and attributes are
/// skipped. A document type is refused, so that no entity can expand; the five predefined entities and
/// character references are decoded.
struct XMLScanner {
    enum Event: Sendable, Equatable {
        /// The name without its prefix.
        case start(String)
        /// A piece of text within an element; comments and CDATA sections divide it.
        case text(String)
        case end(String)
    }

    /// The maximum length of a document in bytes: 1 MiB. A list of 1,000 parts has 250 kB.
    static let maxLength = 1 << 20
    static let maxDepth = 16
    static let maxNameLength = 256

    private let bytes: [UInt8]
    private var position = 0
    /// The names of the open elements, with their prefixes.
    private var open: [ArraySlice<UInt8>] = []
    private var hasRoot = false
    private var endsElement = false

    /// - Throws: ``XMLError`` for a document that is too long or not UTF-8.
    init(_ bytes: [UInt8]) throws(XMLError) {
        guard bytes.count <= Self.maxLength else {
            throw XMLError(position: Self.maxLength, problem: "the document is longer than \(Self.maxLength) bytes")
        }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw XMLError(position: 0, problem: "the document is not UTF-8")
        }
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// - Returns: the next event; nil at the end of a whole document.
    /// - Throws: ``XMLError`` for anything that is not well formed, also for a document that is cut off.
    mutating func next() throws(XMLError) -> Event? {
        if endsElement {
            endsElement = false
            return .end(Self.local(open.removeLast()))
        }
        while position < bytes.count {
            if bytes[position] != UInt8(ascii: "<") {
                if let text = try text() { return .text(text) }
            } else if let event = try markup() {
                return event
            }
        }
        guard open.isEmpty else { throw error("the document is cut off within <\(Self.local(open[open.count - 1]))>") }
        guard hasRoot else { throw error("the document has no element") }
        return nil
    }

    // MARK: Text

    /// Reads up to the next markup.
    /// - Returns: nil for white space outside the root.
    private mutating func text() throws(XMLError) -> String? {
        let end = bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        let piece = bytes[position..<end]
        guard !open.isEmpty else {
            if let other = piece.firstIndex(where: { !Self.isSpace($0) }) {
                position = other
                throw error("text stands outside of the element")
            }
            position = end
            return nil
        }
        if !piece.contains(UInt8(ascii: "&")) {
            position = end
            return String(decoding: piece, as: UTF8.self)
        }
        var text = ""
        while position < end {
            if bytes[position] == UInt8(ascii: "&") {
                text.unicodeScalars.append(try entity(before: end))
            } else {
                let stop = bytes[position..<end].firstIndex(of: UInt8(ascii: "&")) ?? end
                text += String(decoding: bytes[position..<stop], as: UTF8.self)
                position = stop
            }
        }
        return text
    }

    private mutating func entity(before end: Int) throws(XMLError) -> Unicode.Scalar {
        // The longest reference is &#x10FFFF;
        guard let stop = bytes[position..<min(end, position + 12)].firstIndex(of: UInt8(ascii: ";")) else {
            throw error("an entity has no semicolon")
        }
        let name = String(decoding: bytes[position + 1..<stop], as: UTF8.self)
        let scalar: Unicode.Scalar?
        switch name {
        case "lt": scalar = "<"
        case "gt": scalar = ">"
        case "amp": scalar = "&"
        case "quot": scalar = "\""
        case "apos": scalar = "'"
        default: scalar = Self.character(name)
        }
        guard let scalar else { throw error("the entity “&\(name);” is unknown") }
        position = stop + 1
        return scalar
    }

    /// The character of `#38` or `#x26`. S3 writes control characters of keys in this form, although XML 1.0
    /// has none of them but tab and line breaks.
    private static func character(_ reference: String) -> Unicode.Scalar? {
        var digits = reference.utf8[...]
        guard digits.popFirst() == UInt8(ascii: "#") else { return nil }
        let isHexadecimal = digits.first == UInt8(ascii: "x")
        if isHexadecimal { digits = digits.dropFirst() }
        guard let first = digits.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-"),
            let text = String(digits), let value = UInt32(text, radix: isHexadecimal ? 16 : 10), value > 0
        else { return nil }
        return Unicode.Scalar(value)
    }

    // MARK: Markup

    /// - Returns: nil for a comment and a processing instruction.
    private mutating func markup() throws(XMLError) -> Event? {
        if starts(with: "<?") {
            try skip(2, past: "?>", "a processing instruction")
            return nil
        }
        if starts(with: "<!--") {
            try skip(4, past: "-->", "a comment")
            return nil
        }
        if starts(with: "<![CDATA["), !open.isEmpty {
            let start = position + 9
            try skip(9, past: "]]>", "a CDATA section")
            return .text(String(decoding: bytes[start..<position - 3], as: UTF8.self))
        }
        if starts(with: "<!") { throw error("a document type is not accepted") }
        return starts(with: "</") ? try endTag() : try startTag()
    }

    private mutating func startTag() throws(XMLError) -> Event {
        guard !hasRoot || !open.isEmpty else { throw error("a second element follows the first") }
        guard open.count < Self.maxDepth else { throw error("elements are nested deeper than \(Self.maxDepth)") }
        position += 1
        let name = try name()
        while true {
            let hadSpace = skipSpace()
            guard position < bytes.count else { throw error("a tag is cut off") }
            if bytes[position] == UInt8(ascii: ">") {
                position += 1
                break
            }
            if starts(with: "/>") {
                position += 2
                endsElement = true
                break
            }
            guard hadSpace else { throw error("a tag has an unexpected character") }
            try skipAttribute()
        }
        hasRoot = true
        open.append(name)
        return .start(Self.local(name))
    }

    private mutating func endTag() throws(XMLError) -> Event {
        position += 2
        let name = try name()
        _ = skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: ">") else { throw error("an end tag is cut off") }
        guard let last = open.last, last == name else {
            throw error("the end tag </\(String(decoding: name, as: UTF8.self))> closes no open element")
        }
        position += 1
        open.removeLast()
        return .end(Self.local(name))
    }

    private mutating func skipAttribute() throws(XMLError) {
        _ = try name()
        _ = skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: "=") else {
            throw error("an attribute has no value")
        }
        position += 1
        _ = skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") || bytes[position] == UInt8(ascii: "'")
        else { throw error("the value of an attribute is not quoted") }
        let quote = bytes[position]
        guard let end = bytes[(position + 1)...].firstIndex(of: quote) else {
            throw error("the value of an attribute is cut off")
        }
        guard !bytes[position..<end].contains(UInt8(ascii: "<")) else { throw error("an attribute contains a “<”") }
        position = end + 1
    }

    /// A name with its prefix. Bytes beyond ASCII are allowed anywhere in it.
    private mutating func name() throws(XMLError) -> ArraySlice<UInt8> {
        let end = bytes[position...].firstIndex { !Self.isName($0) } ?? bytes.count
        let name = bytes[position..<end]
        guard let first = name.first, !"-.0123456789".utf8.contains(first) else { throw error("a name is missing") }
        guard name.count <= Self.maxNameLength else {
            throw error("a name is longer than \(Self.maxNameLength) bytes")
        }
        position = end
        return name
    }

    // MARK: Bytes

    private func starts(with text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[position...].starts(with: $0) }
    }

    /// - Parameter opening: the length of the markup's start, in which its end cannot be.
    private mutating func skip(_ opening: Int, past text: StaticString, _ what: String) throws(XMLError) {
        let length = text.utf8CodeUnitCount
        var start = position + opening
        while start + length <= bytes.count {
            if text.withUTF8Buffer({ bytes[start...].starts(with: $0) }) {
                position = start + length
                return
            }
            start += 1
        }
        throw error("\(what) is cut off")
    }

    private mutating func skipSpace() -> Bool {
        let start = position
        while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
        return position > start
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
            true
        default: "-._:".utf8.contains(byte)
        }
    }

    private static func local(_ name: ArraySlice<UInt8>) -> String {
        let start = name.lastIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? name.startIndex
        return String(decoding: name[start...], as: UTF8.self)
    }

    private func error(_ problem: String) -> XMLError { XMLError(position: position, problem: problem) }
}

/// Why and where a text is not XML that this program reads.
struct XMLError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Bytes from the start of the text, from 0.
    var position: Int
    var problem: String

    var description: String { "\(problem) at byte \(position + 1)" }
}

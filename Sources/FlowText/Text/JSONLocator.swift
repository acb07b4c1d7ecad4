internal import Commands

/// Finds the positions of the values of a JSON text that was parsed already.
struct JSONLocator {
    private let text: UnsafeBufferPointer<UInt8>
    private var offset = 0
    private var position: SourcePosition
    private var map = SourceMap()

    /// - Parameters:
    ///   - value: the parsed text.
    ///   - line: the number of the first line.
    static func locate(_ value: JSONValue, in text: UnsafeBufferPointer<UInt8>, line: Int) -> LocatedValue {
        var locator = JSONLocator(text: text, position: SourcePosition(line: line, column: 1))
        locator.add(value, name: nil)
        return LocatedValue(value, in: locator.map)
    }

    private init(text: UnsafeBufferPointer<UInt8>, position: SourcePosition) {
        self.text = text
        self.position = position
    }

    /// Recurses at most 64 times, which is the limit of the parser.
    private mutating func add(_ value: JSONValue, name: SourcePosition?) {
        skipSpace()
        let entry = map.open(position, name: name)
        switch value {
        case .string: skipString()
        case .null, .bool, .integer, .number, .decimal: skipWord()
        case .array(let elements):
            advance()
            if elements.isEmpty { skipDelimiter() }
            for element in elements {
                add(element, name: nil)
                skipDelimiter()
            }
        case .object(let members):
            advance()
            if members.isEmpty { skipDelimiter() }
            for member in members {
                skipSpace()
                let name = position
                skipString()
                skipDelimiter()
                add(member.value, name: name)
                skipDelimiter()
            }
        }
        map.close(entry)
    }

    private var next: UInt8? { offset < text.count ? text[offset] : nil }

    private mutating func advance() {
        guard let byte = next else { return }
        offset += 1
        if byte == 0x0A {
            position = SourcePosition(line: position.line + 1, column: 1)
        } else if byte & 0xC0 != 0x80 {
            position.column += 1
        }
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { advance() }
    }

    /// Skips a comma, a colon or a closing bracket, and the space before it.
    private mutating func skipDelimiter() {
        skipSpace()
        advance()
    }

    private mutating func skipString() {
        advance()
        while let byte = next, byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\") { advance() }
            advance()
        }
        advance()
    }

    private mutating func skipWord() {
        while let byte = next, byte > 0x20, byte != UInt8(ascii: ","), byte != UInt8(ascii: "]"),
            byte != UInt8(ascii: "}")
        {
            advance()
        }
    }
}

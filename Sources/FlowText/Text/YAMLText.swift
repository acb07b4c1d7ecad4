internal import Commands

/// Reads a YAML or JSON text as a JSON value with positions.
package enum YAMLText {
    /// Bytes of the longest text: 64 MiB.
    package static let maxBytes = 64 << 20

    /// Reads a text in UTF-8. One whose first character is “{” is JSON; any other is one document of YAML with the core
    /// schema of YAML 1.2.
    /// - Throws: ``SourceError`` for a malformed text, an empty one, a key that occurs twice or is not a scalar, `<<`,
    ///   several documents, a tag outside of the schema, aliases that repeat more than 100,000 values, and a text that
    ///   is too long or nested deeper than 64.
    package static func parse(_ text: [UInt8]) throws(SourceError) -> LocatedValue {
        try withText(text) { (text) throws(SourceError) in
            let first = text.first { !isSpace($0) }
            if first == UInt8(ascii: "{") { return try json(text, line: 1, mayBeYAML: true) }
            // libyaml does not accept a text without memory.
            guard first != nil, let value = try YAMLComposer.compose(text) else {
                throw SourceError(position: nil, problem: "the text is empty")
            }
            return value
        }
    }

    /// Reads a configuration, which is one document of YAML also where it starts with “{”, and keeps the texts of its scalars
    /// (``LocatedValue/text``).
    /// - Returns: nil for a text without a value: an empty one, or one with only comments.
    /// - Throws: ``SourceError`` as ``parse(_:)``, but not for an empty text.
    package static func parseConfiguration(_ text: [UInt8]) throws(SourceError) -> LocatedValue? {
        try withText(text) { (text) throws(SourceError) in
            // libyaml does not accept a text without memory.
            guard !text.isEmpty, let value = try YAMLComposer.compose(text, keepsTexts: true) else { return nil }
            return value.value == .null ? nil : value
        }
    }

    /// Reads a text that must be JSON.
    /// - Parameter line: the number of its first line, for positions.
    static func parseJSON(_ text: [UInt8], line: Int) throws(SourceError) -> LocatedValue {
        try withText(text) { (text) throws(SourceError) in try json(text, line: line, mayBeYAML: false) }
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    /// Skips a byte order mark and checks the length.
    private static func withText<Value>(
        _ text: [UInt8], _ read: (UnsafeBufferPointer<UInt8>) throws(SourceError) -> Value
    ) throws(SourceError) -> Value {
        guard text.count <= maxBytes else {
            throw SourceError(
                position: nil, problem: "the text has \(text.count) bytes, and at most \(maxBytes) are possible")
        }
        return try text.withUnsafeBufferPointer { (buffer) throws(SourceError) in
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            return try read(
                buffer.starts(with: mark) ? UnsafeBufferPointer(rebasing: buffer.dropFirst(mark.count)) : buffer)
        }
    }

    /// - Parameter mayBeYAML: whether a name without quotes is perhaps meant as YAML in braces.
    private static func json(
        _ text: UnsafeBufferPointer<UInt8>, line: Int, mayBeYAML: Bool
    ) throws(SourceError) -> LocatedValue {
        do {
            return JSONLocator.locate(try JSONValue(parsing: text), in: text, line: line)
        } catch {
            var position = SourcePosition(offset: error.position, in: text)
            position.line += line - 1
            var problem = "the text is not valid JSON: \(error.problem)"
            if mayBeYAML, isPlainName(at: error.position, in: text) {
                problem += "; a text that starts with “{” is read as JSON, and as YAML after a line “---”"
            }
            throw SourceError(position: position, problem: problem)
        }
    }

    /// Whether a letter stands where JSON has the name of a member.
    private static func isPlainName(at offset: Int, in text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard offset < text.count, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(text[offset] | 0x20) else {
            return false
        }
        let before = text[..<offset].last { !isSpace($0) }
        return before == UInt8(ascii: "{") || before == UInt8(ascii: ",")
    }
}

/// Mends a response head that a careless server has written, as RFC 9112 permits a client to do. Pure.
///
/// The parser refuses a head for one wrong byte, and then a request that the server has carried out counts as unanswered:
/// a POST is in doubt, and a PUT is sent again.
///
/// | fault | becomes |
/// |---|---|
/// | a line that ends in LF (section 2.2) | CRLF |
/// | several equal `Content-Length` values (section 6.3) | one |
/// | a field over several lines (section 5.2) | one line |
/// | white space before the colon (section 5.1) | removed |
/// | a control character in a value (RFC 9110, section 5.5) | a space |
/// | a line that is not a field | removed |
/// | a value that is not UTF-8, such as a file name in Latin-1 (RFC 9110, section 5.5) | its Latin-1 in UTF-8 |
///
/// Different lengths stay, because they leave the end of the body open: the parser refuses them.
enum ResponseHeadRepair {
    private struct Field {
        var name: ArraySlice<UInt8>
        var value: ArraySlice<UInt8>

        func isNamed(_ other: String) -> Bool {
            name.count == other.utf8.count && zip(name, other.utf8).allSatisfy { $0 | 0x20 == $1 }
        }
    }

    private static let (lineFeed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))

    /// - Parameter head: from the status line to the empty line.
    /// - Returns: nil where the head has nothing to mend, or does not begin as HTTP/1 does.
    static func mended(_ head: some Sequence<UInt8>) -> [UInt8]? {
        let bytes = Array(head)
        guard isFaulty(bytes) else { return nil }
        var lines = lines(bytes)
        guard let status = lines.first, status.starts(with: "HTTP/1.".utf8) else { return nil }
        lines.removeFirst()
        var fields: [Field] = []
        for line in lines {
            if let first = line.first, isBlank(first) {
                guard let last = fields.indices.last else { continue }
                fields[last].value.append(UInt8(ascii: " "))
                fields[last].value += trimmed(line)
            } else if let field = field(line) {
                fields.append(field)
            }
        }
        joinLengths(&fields)
        var result = withoutControls(status) + [carriageReturn, lineFeed]
        for field in fields {
            result += field.name + [UInt8(ascii: ":"), UInt8(ascii: " ")] + withoutControls(field.value)
            result += [carriageReturn, lineFeed]
        }
        return result + [carriageReturn, lineFeed]
    }

    /// Whether a head has one of the faults. Almost none does, so that it is looked through once and not built again.
    private static func isFaulty(_ bytes: [UInt8]) -> Bool {
        var lengths = 0
        var start = 0
        for (index, byte) in bytes.enumerated() {
            if byte != lineFeed {
                let isLineEnd = byte == carriageReturn && index + 1 < bytes.count && bytes[index + 1] == lineFeed
                if isControl(byte), !isLineEnd { return true }
                continue
            }
            guard index > start, bytes[index - 1] == carriageReturn else { return true }
            let line = bytes[start..<(index - 1)]
            start = index + 1
            guard let first = line.first, !line.starts(with: "HTTP/1.".utf8) else { continue }
            guard !isBlank(first), let field = field(line), bytes[field.name.endIndex] == UInt8(ascii: ":") else {
                return true
            }
            if String(validating: field.value, as: UTF8.self) == nil { return true }
            if field.isNamed("content-length") { lengths += field.value.contains(UInt8(ascii: ",")) ? 2 : 1 }
        }
        return lengths > 1
    }

    /// The lines without their ends, and without empty ones.
    private static func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        bytes.split(separator: lineFeed).map { $0.last == carriageReturn ? $0.dropLast() : $0 }.filter { !$0.isEmpty }
    }

    private static func field(_ line: ArraySlice<UInt8>) -> Field? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = trimmed(line[..<colon])
        guard !name.isEmpty, name.allSatisfy(\.isTokenCharacter) else { return nil }
        return Field(name: name, value: trimmed(line[(colon + 1)...]))
    }

    /// Leaves one field where all values of `Content-Length` are equal.
    private static func joinLengths(_ fields: inout [Field]) {
        let lengths = fields.filter { $0.isNamed("content-length") }
        let values = lengths.flatMap { $0.value.split(separator: UInt8(ascii: ",")) }.map { trimmed($0) }
        guard values.count > 1, let first = values.first, !first.isEmpty, first.allSatisfy(\.isDigit),
            values.allSatisfy({ $0.elementsEqual(first) })
        else { return }
        fields.removeAll { $0.isNamed("content-length") }
        fields.append(Field(name: lengths[0].name, value: first))
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let start = bytes.drop(while: isBlank)
        return start.prefix((start.lastIndex { !isBlank($0) } ?? start.startIndex - 1) - start.startIndex + 1)
    }

    private static func withoutControls(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let clean = bytes.map { isControl($0) ? UInt8(ascii: " ") : $0 }
        guard String(validating: clean, as: UTF8.self) == nil else { return clean }
        return Array(String(String.UnicodeScalarView(clean.map { Unicode.Scalar($0) })).utf8)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != UInt8(ascii: "\t") || byte == 0x7F }
}

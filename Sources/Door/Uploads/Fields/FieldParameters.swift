internal import HTTPClient

/// A value with parameters: `form-data; name="file"; filename="a.txt"` (RFC 9110, section 5.6.6).
struct FieldParameters: Equatable {
    /// The part before the first semicolon, in lower case.
    var value: String
    /// In their order, with names in lower case, and without quotes.
    var parameters: [Parameter] = []

    struct Parameter: Equatable {
        var name: String
        var value: String
    }

    /// The value of the first parameter with that name, in lower case.
    subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// - Parameter bytes: UTF-8.
    /// - Returns: nil for a malformed value, and for bytes that are not UTF-8.
    init?(_ bytes: some Sequence<UInt8>) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var rest = Array(text.utf8)[...]
        let value = rest.prefix { $0 != UInt8(ascii: ";") }
        self.value = String(decoding: value, as: UTF8.self).trimmed.lowercased()
        guard !self.value.isEmpty else { return nil }
        rest.removeFirst(value.count)
        while rest.popFirst() != nil {
            Self.skipSpace(&rest)
            // A semicolon without a parameter is permitted.
            guard let first = rest.first, first != UInt8(ascii: ";") else { continue }
            guard let parameter = Self.parameter(&rest) else { return nil }
            parameters.append(parameter)
            Self.skipSpace(&rest)
            guard rest.first == nil || rest.first == UInt8(ascii: ";") else { return nil }
        }
    }

    private static func parameter(_ rest: inout ArraySlice<UInt8>) -> Parameter? {
        let name = rest.prefix { $0.isTokenCharacter }
        rest.removeFirst(name.count)
        skipSpace(&rest)
        guard !name.isEmpty, rest.popFirst() == UInt8(ascii: "=") else { return nil }
        skipSpace(&rest)
        let value: [UInt8]
        if rest.first == UInt8(ascii: "\"") {
            rest.removeFirst()
            guard let quoted = quoted(&rest) else { return nil }
            value = quoted
        } else {
            value = Array(rest.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != 0x09 })
            rest.removeFirst(value.count)
        }
        return Parameter(
            name: String(decoding: name, as: UTF8.self).lowercased(), value: String(decoding: value, as: UTF8.self))
    }

    /// Reads to the closing quote. A backslash escapes only a quote or a backslash: browsers send `filename="C:\a"`.
    private static func quoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return value }
            if byte == UInt8(ascii: "\\"), let next = rest.first, "\"\\".utf8.contains(next) {
                value.append(next)
                rest.removeFirst()
            } else {
                value.append(byte)
            }
        }
        return nil
    }

    private static func skipSpace(_ rest: inout ArraySlice<UInt8>) {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == 0x09 }
    }
}

/// The position of a value in a JSON text (RFC 6901): `/data/0/id`. The empty pointer is the whole text.
package struct JSONPointer: Sendable, Hashable {
    /// Bytes of the longest pointer.
    package static let maxBytes = 1024
    /// Names and indices of the longest pointer.
    package static let maxTokens = 32

    package let text: String
    /// The names and indices, unescaped. Bytes, because names are compared by their bytes.
    package let tokens: [[UInt8]]

    /// The pointer to the whole text.
    package static let root = JSONPointer(tokens: [], text: "")

    /// - Throws: ``JSONPointerError`` for a text that does not start with a slash, has a `~` without `0` or
    ///   `1`, or is longer than ``maxBytes`` or ``maxTokens``.
    package init(_ text: String) throws(JSONPointerError) {
        func refuse(_ problem: String) -> JSONPointerError { JSONPointerError(pointer: text, problem: problem) }
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maxBytes else { throw refuse("it has more than \(Self.maxBytes) bytes") }
        guard bytes.isEmpty || bytes[0] == .slash else {
            throw refuse("it must start with a slash, as “/id” does, or be empty for the whole value")
        }
        var tokens: [[UInt8]] = []
        for part in bytes.split(separator: .slash, omittingEmptySubsequences: false).dropFirst() {
            guard let token = Self.unescaped(part) else {
                throw refuse("a ~ must be written ~0, and a slash within a name ~1")
            }
            tokens.append(token)
        }
        guard tokens.count <= Self.maxTokens else { throw refuse("it has more than \(Self.maxTokens) parts") }
        self.init(tokens: tokens, text: text)
    }

    private init(tokens: [[UInt8]], text: String) {
        self.tokens = tokens
        self.text = text
    }

    package var isRoot: Bool { tokens.isEmpty }

    /// Whether the value at `other` is this pointer's value or lies within it.
    package func contains(_ other: JSONPointer) -> Bool { other.tokens.starts(with: tokens) }

    /// The value at the pointer; nil where there is none. `-` refers to nothing (section 4).
    package func value(in document: JSONValue) -> JSONValue? {
        var value = document
        for token in tokens {
            let next: JSONValue?
            switch value {
            case .object(let members): next = members.first { $0.name.utf8.elementsEqual(token) }?.value
            case .array(let elements):
                guard let index = Self.index(token), index < elements.count else { return nil }
                next = elements[index]
            case .null, .bool, .integer, .number, .decimal, .string: next = nil
            }
            guard let next else { return nil }
            value = next
        }
        return value
    }

    /// The array index of a token: digits without a leading zero; nil for any other text.
    package static func index(_ token: [UInt8]) -> Int? {
        guard let first = token.first, token.count <= 9, first != UInt8(ascii: "0") || token.count == 1 else {
            return nil
        }
        var index = 0
        for byte in token {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            index = index * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return index
    }

    private static func unescaped(_ part: ArraySlice<UInt8>) -> [UInt8]? {
        var token: [UInt8] = []
        var rest = part
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                token.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): token.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): token.append(.slash)
            default: return nil
            }
        }
        return token
    }

    package static func == (left: JSONPointer, right: JSONPointer) -> Bool { left.tokens == right.tokens }

    package func hash(into hasher: inout Hasher) { hasher.combine(tokens) }
}

extension JSONPointer: CustomStringConvertible {
    /// The pointer in a message.
    package var description: String { isRoot ? "the whole value" : "“\(text)”" }
}

/// Why a text is not a JSON Pointer.
package struct JSONPointerError: Error, Sendable, Equatable, CustomStringConvertible {
    package var pointer: String
    package var problem: String

    package var description: String { "“\(pointer.prefix(80))” is not a JSON Pointer: \(problem)" }
}

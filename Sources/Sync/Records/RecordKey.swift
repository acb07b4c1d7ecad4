internal import Commands
internal import Transfers

/// The key of a record in its collection, as text: `s:` and the characters of a string, or `n:` and the exact
/// digits of a number. So `1`, `1.0` and `"1"` are three keys, and no digit is lost.
///
/// A key of several values joins them by U+001F. Within a string of such a key that character is doubled, so
/// that two lists of the same length never have the same text.
struct RecordKey: Sendable, Hashable {
    /// Bytes of all values of a key together, without the prefixes.
    static let maxBytes = 1024
    /// Values of a key.
    static let maxParts = 8

    private static let separator: UInt8 = 0x1F

    let text: String

    /// - Parameter text: ``text``, as it was stored.
    init(stored text: String) { self.text = text }

    /// - Parameter values: the JSON texts at the pointers of the key, in order; nil where there is none.
    /// - Throws: the problem, with the position of the value.
    init(_ values: [ArraySlice<UInt8>?]) throws(PartProblem) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        var size = 0
        for (part, value) in values.enumerated() {
            if part > 0 { bytes.append(Self.separator) }
            let start = bytes.count
            do throws(KeyProblem) {
                guard let value else { throw .missing }
                try Self.append(value, to: &bytes, isAlone: values.count == 1)
                size += bytes.count - start - 2
                guard size <= Self.maxBytes else { throw .tooLong }
            } catch {
                throw PartProblem(part: part, problem: error)
            }
        }
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// Why one value of a key cannot be used.
    struct PartProblem: Error, Equatable {
        var part: Int
        var problem: KeyProblem
    }

    private static func append(
        _ value: ArraySlice<UInt8>, to bytes: inout [UInt8], isAlone: Bool
    ) throws(KeyProblem) {
        guard let first = value.first else { throw .missing }
        switch first {
        case UInt8(ascii: "\""):
            let text = try string(value)
            bytes.append(UInt8(ascii: "s"))
            bytes.append(UInt8(ascii: ":"))
            if isAlone || !text.contains(separator) {
                bytes += text
            } else {
                for byte in text { bytes += byte == separator ? [separator, separator] : [byte] }
            }
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            guard value.count <= maxBytes else { throw .tooLong }
            bytes.append(UInt8(ascii: "n"))
            bytes.append(UInt8(ascii: ":"))
            bytes += value
        default: throw .unsuitable(first.kindOfJSONValue)
        }
    }

    private static func string(_ quoted: ArraySlice<UInt8>) throws(KeyProblem) -> ArraySlice<UInt8> {
        let inner = quoted.dropFirst().dropLast()
        guard !inner.isEmpty else { throw .empty }
        // An escape has at most six bytes for one of the text, so a longer text need not be unescaped.
        guard inner.count <= maxBytes * 6 else { throw .tooLong }
        guard inner.contains(UInt8(ascii: "\\")) else {
            guard inner.count <= maxBytes else { throw .tooLong }
            return inner
        }
        var text: [UInt8] = []
        inner.withUnsafeBufferPointer { JSONUnescaping.append($0, 0..<$0.count, to: &text) }
        guard !text.contains(0) else { throw .containsNUL }
        guard text.count <= maxBytes else { throw .tooLong }
        return text[...]
    }
}

extension RecordKey: CustomStringConvertible {
    var description: String { text }
}

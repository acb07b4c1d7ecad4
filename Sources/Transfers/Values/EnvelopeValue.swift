internal import Commands

/// A value beside the lists of a body, such as the cursor of the next page.
package enum EnvelopeValue: Sendable, Equatable {
    case missing
    case null
    case bool(Bool)
    case text(String)
    /// The exact text, because a cursor may have more digits than a number type can hold.
    case number(String)
    /// An array or an object.
    case container(String)
    /// Longer than ``maxSize``.
    case tooLong

    /// Bytes of a value, as JSON text.
    package static let maxSize = 8192

    /// - Parameter bytes: valid JSON.
    package init(_ bytes: ArraySlice<UInt8>) {
        switch bytes.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): self = .container(bytes.first?.kindOfJSONValue ?? "")
        case UInt8(ascii: "\""): self = .text((try? JSONValue(parsing: bytes))?.string ?? "")
        case UInt8(ascii: "t"): self = .bool(true)
        case UInt8(ascii: "f"): self = .bool(false)
        case UInt8(ascii: "n"): self = .null
        default: self = .number(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// The kind of the value, in words for a message.
    package var kind: String {
        switch self {
        case .missing: "missing"
        case .null: "null"
        case .bool: "a boolean"
        case .text: "a string"
        case .number: "a number"
        case .container(let kind): kind
        case .tooLong: "longer than \(Self.maxSize) bytes"
        }
    }

    /// A count that is not negative; nil for any other value.
    package var count: Int? {
        guard case .number(let text) = self, let count = Int(text), count >= 0 else { return nil }
        return count
    }
}

extension UInt8 {
    /// The kind of a valid JSON value that starts with this byte, in words for a message.
    package var kindOfJSONValue: String {
        switch self {
        case UInt8(ascii: "{"): "an object"
        case UInt8(ascii: "["): "an array"
        case UInt8(ascii: "\""): "a string"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): "a boolean"
        case UInt8(ascii: "n"): "null"
        default: "a number"
        }
    }
}

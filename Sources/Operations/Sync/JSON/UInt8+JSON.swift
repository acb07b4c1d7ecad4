extension UInt8 {
    @inline(__always)
    var isJSONSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }

    @inline(__always)
    var isASCIIDigit: Bool { self &- 0x30 < 10 }

    /// The kind of a valid JSON value that starts with this byte, in words for a message.
    var kindOfJSONValue: String {
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

extension UInt8 {
    @inline(__always)
    var isJSONSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }

    @inline(__always)
    var isASCIIDigit: Bool { self &- 0x30 < 10 }

}

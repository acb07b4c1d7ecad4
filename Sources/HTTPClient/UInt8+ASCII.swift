extension UInt8 {
    package var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    package var isLetter: Bool { self | 0x20 >= UInt8(ascii: "a") && self | 0x20 <= UInt8(ascii: "z") }
    package var isHexadecimal: Bool {
        isDigit || (self | 0x20 >= UInt8(ascii: "a") && self | 0x20 <= UInt8(ascii: "f"))
    }
    /// `unreserved` of RFC 3986, section 2.3.
    package var isUnreserved: Bool { isLetter || isDigit || "-._~".utf8.contains(self) }
    /// `tchar` of RFC 9110, section 5.6.2.
    package var isTokenCharacter: Bool { isLetter || isDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}

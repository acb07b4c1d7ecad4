/// The escapes of URLs (RFC 3986, section 2.1).
package enum PercentCoding {
    /// - Parameter decodesPlus: whether `+` is a space, as in forms.
    /// - Returns: nil for a bad escape, a NUL, and bytes that are not UTF-8.
    package static func decode(_ text: some StringProtocol, decodesPlus: Bool = false) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(nibble), let low = rest.next().flatMap(nibble) else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where decodesPlus: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func nibble(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

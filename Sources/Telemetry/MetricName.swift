/// The names that the text format takes, made of those of swift-metrics.
package enum MetricName {
    /// Characters of a name, and of the value of a label, at most.
    static let maxLength = 128

    /// The name of a family. Dots and all other characters that a name cannot have become underscores.
    /// - Parameter suffix: of the unit, such as `_seconds`; not added twice.
    package static func family(_ label: String, suffix: String = "") -> String {
        let name = cleaned(label) { $0 == UInt8(ascii: ":") }
        return name.hasSuffix(suffix) ? name : name + suffix
    }

    /// The name of a label. `le` belongs to histograms, and gets an underscore.
    static func label(_ text: String) -> String {
        let name = cleaned(text) { _ in false }
        return name == "le" ? "le_" : name
    }

    /// The value of a label: cut after 128 characters, without control characters.
    static func value(_ text: String) -> String {
        let isPlain = text.utf8.count <= maxLength && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        if isPlain { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(maxLength).map { isControl($0) ? " " : $0 }))
    }

    /// Whether a family of another process may have this name.
    static func isValid(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= maxLength && name == family(name)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.value < 0x20 || scalar.value == 0x7F }

    private static func cleaned(_ text: String, permits: (UInt8) -> Bool) -> String {
        let bytes = text.utf8.prefix(maxLength).map { byte -> UInt8 in
            isLetter(byte) || isDigit(byte) || permits(byte) ? byte : UInt8(ascii: "_")
        }
        let name = String(decoding: bytes, as: UTF8.self)
        return bytes.first.map(isDigit) ?? true ? "_" + name : name
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

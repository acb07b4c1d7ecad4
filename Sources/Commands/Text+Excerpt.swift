extension StringProtocol {
    /// The start of a text for an error message: at most 80 bytes of UTF-8, and “…” where something is left out. A
    /// control character is shown as U+FFFD, so that a text does not control the terminal.
    package var excerpt: String {
        var result = ""
        var bytes = 0
        for scalar in unicodeScalars {
            bytes += UTF8.width(scalar)
            guard bytes <= 80 else { return result + "…" }
            let isControl = scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
            result.unicodeScalars.append(isControl ? "\u{FFFD}" : scalar)
        }
        return result
    }

    /// With a full stop at the end, unless the text ends as a sentence already.
    package var withFullStop: String { last.map { ".?!".contains($0) } ?? true ? String(self) : "\(self)." }
}

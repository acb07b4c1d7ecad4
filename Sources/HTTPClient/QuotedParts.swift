extension Collection<UInt8> {
    /// The parts between separators that are outside quotes (quoted-string, RFC 9110, section 5.6.4).
    package func parts(separatedOutsideQuotesBy separator: UInt8) -> [SubSequence] {
        var parts: [SubSequence] = []
        var (start, isQuoted, isEscaped) = (startIndex, false, false)
        for index in indices {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, self[index] == UInt8(ascii: "\\") {
                isEscaped = true
            } else if self[index] == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if self[index] == separator, !isQuoted {
                parts.append(self[start..<index])
                start = self.index(after: index)
            }
        }
        return parts + [self[start...]]
    }
}

package import Commands

extension Timestamp {
    /// Reads RFC 3339 (`2026-03-01T12:34:56Z`, with fractions and offsets), or a duration from now: `+10m`,
    /// `90s`.
    /// - Returns: nil for anything else.
    package init?(text: some StringProtocol, now: Timestamp) {
        if let duration = Duration.parse(text.hasPrefix("+") ? Substring(text.dropFirst()) : Substring(text)) {
            self = now + duration
        } else if let time = Timestamp(rfc3339: text) {
            self = time
        } else {
            return nil
        }
    }
}

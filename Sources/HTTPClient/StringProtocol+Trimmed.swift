extension StringProtocol {
    /// The text without the spaces and tabs at both ends, which HTTP ignores (RFC 9110, section 5.5).
    package var trimmed: String {
        let start = drop { $0 == " " || $0 == "\t" }
        guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return String(start[...last])
    }
}

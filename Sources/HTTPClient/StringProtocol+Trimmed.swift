extension StringProtocol {
    /// Without the blanks of HTTP (spaces and tabs) at both ends.
    package var trimmed: String {
        let start = drop { $0 == " " || $0 == "\t" }
        guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return String(start[...last])
    }
}

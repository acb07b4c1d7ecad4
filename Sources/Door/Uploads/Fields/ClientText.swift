internal import HTTPTypes

/// Text that a client states about an upload. It is shown, and becomes a part of URLs, but never a path.
enum ClientText {
    /// 4 KiB of UTF-8.
    static let maxBytes = 4096

    /// - Returns: why the text is refused, as the end of a sentence; nil for a permitted one.
    static func refusal(_ text: String) -> String? {
        guard text.utf8.count <= maxBytes else { return "has \(text.utf8.count) bytes; send at most \(maxBytes)" }
        guard !text.unicodeScalars.contains(where: isControl) else { return "has a control character; leave it out" }
        return nil
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        // U+FFFD stands for bytes that were not UTF-8.
        scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value) || scalar.value == 0xFFFD
    }

    /// - Parameter name: the source of the text, as the subject of the sentence: `The file name`.
    /// - Throws: 400 for a text that ``refusal(_:)`` refuses.
    static func check(_ text: String, _ name: String) throws(Problem) {
        if let refusal = refusal(text) { throw Problem(.badRequest, "invalid-text", "\(name) \(refusal).") }
    }
}

package import Commands
internal import Console

/// The error output that a failed program has left in its result.
package struct ErrorOutput: Sendable, Equatable {
    /// Lines that are shown, the last ones.
    static let maxLines = 20

    /// The kept part: base64 where it is not text.
    package let text: String
    private let isText: Bool
    /// Bytes of the whole output.
    private let count: Int64

    /// - Returns: nil where the result has no error output.
    package init?(result: JSONValue) {
        guard let text = result["stderr"]?.string, !text.isEmpty else { return nil }
        self.text = text
        isText = result["stderrEncoding"] == nil
        count = result["stderrBytes"]?.integer ?? Int64(text.utf8.count)
    }

    /// The last lines, without control characters, behind a line that says what they are.
    package var lines: [String] {
        guard isText else { return ["stderr: \(count) bytes that are not text; “sluice status” has them"] }
        let all = text.split(whereSeparator: \.isNewline)
        let shown = all.suffix(Self.maxLines).map { "  \(TerminalText.plain(String($0)))" }
        let isWhole = shown.count == all.count && Int64(text.utf8.count) >= count
        return [isWhole ? "stderr:" : "stderr, the end of \(count) bytes; “sluice status” has more:"] + shown
    }
}

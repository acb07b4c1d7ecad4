internal import HTTPClient

/// The file name in a `Content-Disposition` (RFC 6266). It is text, never a path.
enum ContentDisposition {
    /// - Returns: `filename*` (RFC 8187), else `filename`; nil without either.
    static func fileName(_ field: FieldParameters) -> String? {
        if let extended = field["filename*"].flatMap(extendedText) { return extended }
        guard let plain = field["filename"] else { return nil }
        // Browsers send a quote as %22, and encode nothing else but line ends (HTML, multipart/form-data).
        return unescapedQuotes(plain)
    }

    private static func unescapedQuotes(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.starts(with: "22".utf8) {
                bytes.append(UInt8(ascii: "\""))
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `UTF-8'en'%e2%82%ac%20rates`; nil for another character set, and for bytes that are not UTF-8.
    private static func extendedText(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8",
            let bytes = PercentEncoding.validDecoded(parts[2].utf8)
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

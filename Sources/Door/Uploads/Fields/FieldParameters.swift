internal import HTTPClient
package import HTTPTypes

/// A value with parameters: `form-data; name="file"; filename="a.txt"` (RFC 9110, section 5.6.6).
struct FieldParameters: Equatable {
    /// The part before the first semicolon, in lower case.
    var value: String
    /// In their order, with names in lower case, and without quotes.
    var parameters: [Parameter] = []

    struct Parameter: Equatable {
        var name: String
        var value: String
    }

    /// The value of the first parameter with that name, in lower case.
    subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// - Parameter bytes: UTF-8.
    /// - Returns: nil for a malformed value, and for bytes that are not UTF-8.
    init?(_ bytes: some Sequence<UInt8>) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var rest = Array(text.utf8)[...]
        let value = rest.prefix { $0 != UInt8(ascii: ";") }
        self.value = String(decoding: value, as: UTF8.self).trimmed.lowercased()
        guard !self.value.isEmpty else { return nil }
        rest.removeFirst(value.count)
        while rest.popFirst() != nil {
            Self.skipSpace(&rest)
            // A semicolon without a parameter is permitted.
            guard let first = rest.first, first != UInt8(ascii: ";") else { continue }
            guard let parameter = Self.parameter(&rest) else { return nil }
            parameters.append(parameter)
            Self.skipSpace(&rest)
            guard rest.first == nil || rest.first == UInt8(ascii: ";") else { return nil }
        }
    }

    private static func parameter(_ rest: inout ArraySlice<UInt8>) -> Parameter? {
        let name = rest.prefix { $0.isTokenCharacter }
        rest.removeFirst(name.count)
        skipSpace(&rest)
        guard !name.isEmpty, rest.popFirst() == UInt8(ascii: "=") else { return nil }
        skipSpace(&rest)
        let value: [UInt8]
        if rest.first == UInt8(ascii: "\"") {
            rest.removeFirst()
            guard let quoted = quoted(&rest) else { return nil }
            value = quoted
        } else {
            value = Array(rest.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != 0x09 })
            rest.removeFirst(value.count)
        }
        return Parameter(
            name: String(decoding: name, as: UTF8.self).lowercased(), value: String(decoding: value, as: UTF8.self))
    }

    /// Reads to the closing quote. A backslash escapes only a quote or a backslash: browsers send `filename="C:\a"`.
    private static func quoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return value }
            if byte == UInt8(ascii: "\\"), let next = rest.first, "\"\\".utf8.contains(next) {
                value.append(next)
                rest.removeFirst()
            } else {
                value.append(byte)
            }
        }
        return nil
    }

    private static func skipSpace(_ rest: inout ArraySlice<UInt8>) {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == 0x09 }
    }
}

/// The media types of the upload protocols.
package enum UploadMediaType {
    static let tus = "application/offset+octet-stream"
    static let partialUpload = "application/partial-upload"
    static let form = "multipart/form-data"

    /// The type of the body in lower case, without parameters; nil without `Content-Type`.
    package static func read(_ fields: HTTPFields) -> String? {
        fields[.contentType].flatMap { FieldParameters($0.utf8)?.value }
    }

    /// The parameter `charset` of the body's type in lower case.
    package static func charset(_ fields: HTTPFields) -> String? {
        fields[.contentType].flatMap { FieldParameters($0.utf8)?["charset"]?.lowercased() }
    }
}

/// The file name in a `Content-Disposition` (RFC 6266). It is text, never a path.
enum DispositionFileName {
    /// - Returns: `filename*` (RFC 8187), else `filename`; nil without either.
    static func read(_ field: FieldParameters) -> String? {
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

internal import ArgumentParser
internal import Commands
internal import HTTPClient

/// The values of `--header`.
enum HeaderArgument {
    /// - Returns: names and values, as a payload has them.
    /// - Throws: `ValidationError` for a text without a colon, or with white space before it.
    static func members(_ texts: [String]) throws -> [JSONValue.Member] {
        try texts.map { text in
            guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex,
                !text[..<colon].unicodeScalars.contains(where: \.properties.isWhitespace)
            else {
                let start = HTTPHeaderRedaction.start(ofMalformed: text).map { ", which '\($0) …' is not" } ?? ""
                throw ValidationError(
                    "--header must be a name, a colon and a value, as in 'X-Tag: nightly'\(start).")
            }
            let value = text.utf8[colon...].dropFirst().drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            return .init(String(text[..<colon]), .string(String(Substring(value))))
        }
    }
}

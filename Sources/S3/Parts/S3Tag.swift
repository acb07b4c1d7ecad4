internal import Commands
internal import Crypto
internal import HTTPClient

/// The `ETag` of parts and objects.
enum S3Tag {
    /// The maximum length of a tag in bytes; AWS has 35.
    static let maxLength = 256

    /// The tag without its quotes.
    /// - Returns: nil for an empty or a long tag, and for one with other than printable ASCII.
    static func text(_ field: some StringProtocol) -> String? {
        var text = field.trimmed[...]
        if text.hasPrefix("W/") { text = text.dropFirst(2) }
        if text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = text.dropFirst().dropLast() }
        guard (1...maxLength).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return nil
        }
        return String(text)
    }

    /// The tag that S3 gives an object of parts whose tags are MD5s: the MD5 of these MD5s, a hyphen and
    /// their number.
    /// - Parameter parts: in the order of their numbers.
    /// - Returns: nil where a tag is not an MD5, as with server-side encryption by KMS.
    static func composite(of parts: [S3Part]) -> String? {
        guard !parts.isEmpty else { return nil }
        var hash = Insecure.MD5()
        for part in parts {
            guard let bytes = Hexadecimal.bytes(part.etag), bytes.count == 16 else { return nil }
            hash.update(data: bytes)
        }
        return "\(Hexadecimal.text(hash.finalize()))-\(parts.count)"
    }
}

/// `WWW-Authenticate` (RFC 9110, section 11.6.1).
enum Challenge {
    /// The schemes of one field value, in order: `Digest` and `Basic` of
    /// `Digest realm="a, b", Basic realm="c"`. At most 8, each of at most 32 bytes.
    static func schemes(_ value: String) -> [String] {
        var schemes: [String] = []
        for part in parts(value) where schemes.count < 8 {
            let words = part.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard let first = words.first, !first.isEmpty, first.count <= 32, first.allSatisfy(\.isTokenCharacter),
                // `name=value` is a parameter of the previous scheme. So is `name =value`, an old and rare form.
                !(words.count > 1 && words[1].first == UInt8(ascii: "="))
            else { continue }
            schemes.append(String(decoding: first, as: UTF8.self))
        }
        return schemes
    }

    /// The parts between commas that are outside quotes.
    private static func parts(_ value: String) -> [ArraySlice<UInt8>] {
        Array(value.utf8).parts(separatedOutsideQuotesBy: UInt8(ascii: ",")).map { part in
            part.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        }
    }
}

internal import HTTPClient

/// The percent-encoding of Signature Version 4: every byte but `A–Z a–z 0–9 - . _ ~`, once, in upper case.
/// The encoded bytes are signed and sent alike. No dot segment and no double slash is removed.
package enum S3Path {
    /// A key in a path: slashes stay.
    static func encoded(key: some StringProtocol) -> String { encoded(key, keepsSlash: true) }

    /// A name or a value in a query: a slash is encoded as well.
    static func encoded(queryPart text: some StringProtocol) -> String { encoded(text, keepsSlash: false) }

    /// The canonical query: sorted by encoded name, then by encoded value; `uploads` becomes `uploads=`.
    static func query(_ items: [S3QueryItem]) -> String {
        items.map { (encoded(queryPart: $0.name), encoded(queryPart: $0.value)) }
            // The pairs are compared, not the joined texts: “a-=” is after “a=” although “-” is before “=”.
            .sorted { $0 < $1 }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// The target of a request line.
    package static func target(_ path: String, _ items: [S3QueryItem]) -> String {
        items.isEmpty ? path : "\(path)?\(query(items))"
    }

    private static func encoded(_ text: some StringProtocol, keepsSlash: Bool) -> String {
        var encoded = ""
        encoded.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if byte.isUnreserved || keepsSlash && byte == UInt8(ascii: "/") {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += PercentEncoding.encoded(byte)
            }
        }
        return encoded
    }
}

/// One parameter of a query, not encoded. A parameter without a value has an empty one.
package struct S3QueryItem: Sendable, Equatable {
    var name: String
    var value: String

    package init(_ name: String, _ value: String = "") {
        self.name = name
        self.value = value
    }
}

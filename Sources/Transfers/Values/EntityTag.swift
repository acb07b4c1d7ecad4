internal import Commands

/// An entity tag, weak or strong (RFC 9110, section 8.8.3). One without quotes is kept as it is, because
/// servers that send such tags compare them by their bytes.
package struct EntityTag: Sendable, Equatable {
    /// The maximum bytes of a tag that is sent back.
    static let maxLength = 1024

    /// As sent, with `W/` where it is weak.
    package let text: String

    /// - Returns: nil for an empty or too long one, and for one with a control character in it.
    package init?(_ value: String) {
        guard (1...Self.maxLength).contains(value.utf8.count), value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        text = value
    }

    /// The first `ETag` of a message.
    package init?(in headers: HeaderFields) {
        guard let value = headers.first("etag") else { return nil }
        self.init(value)
    }

    /// Weak comparison: the same tag, whether it is weak or not (section 8.8.3.2).
    package func isSame(as other: EntityTag) -> Bool { opaque.hasSameBytes(as: other.opaque) }

    package var isWeak: Bool { text.beginsWithBytes(of: "W/") }

    private var opaque: Substring { isWeak ? Substring(text.utf8.dropFirst(2)) : text[...] }
}

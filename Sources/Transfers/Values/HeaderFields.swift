internal import Commands
internal import HTTPClient
package import NIOHTTP1

/// The header fields of one message, in their order.
package struct HeaderFields: Sendable, Equatable {
    package private(set) var fields: [HTTPField]

    package init(_ fields: [HTTPField] = []) { self.fields = fields }

    package init(_ fields: [(name: String, value: String)]) {
        self.fields = fields.map { HTTPField($0.name, $0.value) }
    }

    package init(_ headers: HTTPHeaders) { fields = headers.map { HTTPField($0.name, $0.value) } }

    /// The value of the first field with that name, without spaces at its ends.
    package func first(_ name: String) -> String? {
        fields.first { $0.name.isSameHeaderName(as: name) }?.value.trimmed
    }

    /// The values of all fields with that name.
    package func values(_ name: String) -> [String] {
        fields.compactMap { $0.name.isSameHeaderName(as: name) ? $0.value : nil }
    }

    package func contains(_ name: String) -> Bool { fields.contains { $0.name.isSameHeaderName(as: name) } }

    /// Without the fields of these names.
    /// - Parameter names: in lower case.
    package func removing(_ names: Set<String>) -> HeaderFields {
        HeaderFields(fields.filter { !names.contains($0.name.lowercased()) })
    }

    package func appending(_ more: [HTTPField]) -> HeaderFields { HeaderFields(fields + more) }
}

extension StringProtocol {
    /// Whether both are the name of one header field. Names are ASCII, and their case does not matter.
    func isSameHeaderName(as other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count && zip(utf8, other.utf8).allSatisfy { $0.lowercased == $1.lowercased }
    }
}

extension UInt8 {
    /// The letter in lower case; any other byte unchanged.
    fileprivate var lowercased: UInt8 { isLetter ? self | 0x20 : self }
}

/// A header field of a payload, a request or a response.
package struct HTTPField: Sendable, Equatable {
    /// As given. Names are compared without case (RFC 9110, section 5.1).
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The name in lower case. Names are ASCII.
    package var lowerName: String { name.lowercased() }

    /// - Parameter other: in lower case.
    package func isNamed(_ other: String) -> Bool { lowerName == other }
}

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

/// The head of a response, as the rules of the cache read it.
package struct ResponseHead: Sendable, Equatable {
    /// 100…999.
    package var status: Int
    package var headers: HeaderFields

    package init(status: Int, headers: HeaderFields) {
        self.status = status
        self.headers = headers
    }

    package init(_ status: Int, _ headers: [(name: String, value: String)] = []) {
        self.init(status: status, headers: HeaderFields(headers))
    }
}

/// The stored responses that a request may make stale.
package protocol ResponseInvalidation: Sendable {
    /// A request of this method has succeeded: the stored responses that it concerns are asked for again (RFC
    /// 9111, section 4.4).
    func invalidate(method: String, _ url: ResourceURL, _ response: ResponseHead) async
}

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

internal import HTTPClient
internal import NIOHTTP1

/// The header fields of one message, in their order.
struct HeaderFields: Sendable, Equatable {
    private(set) var fields: [HTTPField]

    init(_ fields: [HTTPField] = []) { self.fields = fields }

    init(_ fields: [(name: String, value: String)]) { self.fields = fields.map { HTTPField($0.name, $0.value) } }

    init(_ headers: HTTPHeaders) { fields = headers.map { HTTPField($0.name, $0.value) } }

    /// The value of the first field with that name, without spaces at its ends.
    func first(_ name: String) -> String? {
        fields.first { $0.name.isSameHeaderName(as: name) }?.value.trimmed
    }

    /// The values of all fields with that name.
    func values(_ name: String) -> [String] {
        fields.compactMap { $0.name.isSameHeaderName(as: name) ? $0.value : nil }
    }

    func contains(_ name: String) -> Bool { fields.contains { $0.name.isSameHeaderName(as: name) } }

    /// Without the fields of these names.
    /// - Parameter names: in lower case.
    func removing(_ names: Set<String>) -> HeaderFields {
        HeaderFields(fields.filter { !names.contains($0.name.lowercased()) })
    }

    func appending(_ more: [HTTPField]) -> HeaderFields { HeaderFields(fields + more) }
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

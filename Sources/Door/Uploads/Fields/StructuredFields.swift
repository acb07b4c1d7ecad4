internal import HTTPTypes
internal import RawStructuredFieldValues

/// Structured fields (RFC 9651) of a request. The draft of the IETF wants a field with another value ignored.
enum StructuredFields {
    static func boolean(_ name: HTTPField.Name, _ fields: HTTPFields) -> Bool? {
        if case .bool(let value) = item(name, fields) { value } else { nil }
    }

    /// - Returns: nil for a negative number also.
    static func size(_ name: HTTPField.Name, _ fields: HTTPFields) -> Int64? {
        if case .integer(let value) = item(name, fields), value >= 0 { value } else { nil }
    }

    /// - Returns: the members of a dictionary, with nil for an inner list; nil where the field is absent or malformed.
    static func dictionary(_ name: HTTPField.Name, _ fields: HTTPFields) -> [(key: String, value: RFC9651BareItem?)]? {
        guard let text = fields[name] else { return nil }
        var parser = StructuredFieldValueParser(Array(text.utf8))
        guard let members = try? parser.parseDictionaryFieldValue() else { return nil }
        return members.map { key, value in
            if case .item(let item) = value { (key, item.rfc9651BareItem) } else { (key, nil) }
        }
    }

    /// A repeated field is a list, and so not an item.
    static func item(_ name: HTTPField.Name, _ fields: HTTPFields) -> RFC9651BareItem? {
        guard let text = fields[name] else { return nil }
        var parser = StructuredFieldValueParser(Array(text.utf8))
        return (try? parser.parseItemFieldValue())?.rfc9651BareItem
    }

    /// `?1` or `?0`
    static func text(_ value: Bool) -> String { value ? "?1" : "?0" }
}

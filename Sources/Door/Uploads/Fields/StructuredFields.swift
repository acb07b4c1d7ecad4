internal import HTTPClient
package import HTTPTypes
internal import RawStructuredFieldValues
package import Uploads

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

/// `Idempotency-Key`: a structured string, as `"8e03978e"`. A plain token, which clients send too, is accepted.
/// Source: draft-ietf-httpapi-idempotency-key-header-07, section 2.1.
package enum IdempotencyKeyField {
    /// - Parameter token: ``Principal/owner`` of the request; nil where the door asks for none.
    /// - Returns: nil where the field is absent.
    /// - Throws: 400 for a malformed one, and for one of more than 255 bytes.
    package static func read(_ fields: HTTPFields, token: String?) throws(Problem) -> IdempotencyKey? {
        guard fields[.idempotencyKey] != nil else { return nil }
        guard let value = value(fields), (1...255).contains(value.utf8.count) else {
            throw Problem(
                .badRequest, "invalid-field",
                "Idempotency-Key is not a string of 1 to 255 bytes in quotes, such as \"8e03978e-40d5\".")
        }
        return IdempotencyKey(value: value, token: token ?? "")
    }

    private static func value(_ fields: HTTPFields) -> String? {
        switch StructuredFields.item(.idempotencyKey, fields) {
        case .string(let text), .token(let text): text
        // A UUID that begins with a digit is neither a string nor a token of RFC 9651; digits alone are a number.
        default: plain(fields[values: .idempotencyKey])
        }
    }

    private static func plain(_ values: [String]) -> String? {
        guard values.count == 1, let value = values.first, value.utf8.allSatisfy(\.isTokenCharacter) else { return nil }
        return value
    }
}

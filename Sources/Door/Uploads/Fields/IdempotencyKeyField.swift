internal import HTTPClient
package import HTTPTypes
internal import RawStructuredFieldValues
package import Uploads

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

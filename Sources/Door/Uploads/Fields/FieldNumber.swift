internal import Commands
internal import HTTPClient
internal import HTTPTypes

/// A number of bytes in a field, as tus and HTTP write it: digits only.
enum FieldNumber {
    /// - Returns: nil where the field is absent. A field that is present and not a number is never absent.
    /// - Throws: 400 for anything but one number of 1 to 19 digits that fits into 64 bits, and for a repeated field.
    static func read(_ name: HTTPField.Name, _ fields: HTTPFields) throws(Problem) -> Int64? {
        let values = fields[values: name]
        guard let value = values.first else { return nil }
        guard values.count == 1 else {
            throw Problem(.badRequest, "invalid-field", "\(name.rawName) is there \(values.count) times; send it once.")
        }
        guard let number = parse(value) else {
            throw Problem(
                .badRequest, "invalid-field",
                "\(name.rawName) is “\(value.excerpt)”, which is not a number of bytes; send digits only.")
        }
        return number
    }

    /// - Returns: nil for anything but 1 to 19 digits whose number fits into 64 bits.
    static func parse(_ text: String) -> Int64? {
        guard (1...19).contains(text.utf8.count), text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(text)
    }
}

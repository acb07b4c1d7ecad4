internal import Commands
internal import Operations
internal import Transfers

/// The kinds of values that the payload of a sync has.
extension PayloadReader {
    /// Bytes of the name of a query parameter.
    private static let maxNameBytes = 256

    /// The reader of an object within the payload of a sync.
    static func object(_ value: JSONValue, _ key: String, keys: String) throws(PayloadError) -> PayloadReader {
        try PayloadReader(value, of: "a sync (“\(key)”)", keys: keys)
    }

    mutating func pointer(_ key: String) throws(PayloadError) -> JSONPointer? {
        try text(key).map { text throws(PayloadError) in try Self.pointer(text, key) }
    }

    static func pointer(_ text: String, _ key: String) throws(PayloadError) -> JSONPointer {
        do throws(JSONPointerError) {
            return try JSONPointer(text)
        } catch {
            throw PayloadError(.data, "“\(key)” cannot be used: \(error)")
        }
    }

    /// The name of a query parameter.
    mutating func name(_ key: String) throws(PayloadError) -> String? {
        guard let name = try text(key) else { return nil }
        guard (1...Self.maxNameBytes).contains(name.utf8.count), name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else {
            throw PayloadError(
                .data, "“\(key)” is a name of 1 to \(Self.maxNameBytes) bytes without control characters")
        }
        return name
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, default standard: Choice
    ) throws(PayloadError) -> Choice where Choice.RawValue == String {
        guard let text = try text(key) else { return standard }
        guard let choice = Choice.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) }) else {
            let all = Choice.allCases.map { "“\($0.rawValue)”" }
            let list = all.dropLast().joined(separator: ", ") + " or " + (all.last ?? "")
            throw PayloadError(.data, "“\(key)” is “\(text.prefix(80))”; it is \(list)")
        }
        return choice
    }
}

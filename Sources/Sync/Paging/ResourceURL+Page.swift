internal import Commands
internal import HTTPClient
internal import Transfers

extension ResourceURL {
    /// The URL that an answer of this URL refers to. Characters that a URL must not contain, such as the
    /// brackets of `page[number]=2`, are percent-encoded, because many servers do not encode them.
    /// - Returns: nil where it is not a valid URL, or too long.
    func page(_ reference: String) -> ResourceURL? {
        guard reference.utf8.count <= Self.maxBytes else { return nil }
        return resolving(LocationField.encoded(reference.trimmed))
    }

    /// The same path and query at the origin of another URL.
    /// - Returns: nil where the URL becomes too long.
    func moved(to other: ResourceURL) -> ResourceURL? { try? ResourceURL("\(other.origin)\(path)\(query)") }

    /// Sets a parameter of the query, in place of its first occurrence; later ones are removed. The other
    /// bytes of the query stay as they are.
    /// - Returns: nil where the URL becomes too long.
    func setting(_ parameter: String, to value: String) -> ResourceURL? {
        let field = "\(Self.encoded(parameter))=\(Self.encoded(value))"
        var fields: [String] = []
        var isSet = false
        for part in query.dropFirst().split(separator: "&") {
            guard Self.name(of: part).elementsEqual(parameter.utf8) else {
                fields.append(String(part))
                continue
            }
            if !isSet { fields.append(field) }
            isSet = true
        }
        if !isSet { fields.append(field) }
        return try? ResourceURL("\(origin)\(path)?\(fields.joined(separator: "&"))")
    }

    private static func encoded(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if byte.isUnreserved {
                encoded.append(byte)
            } else {
                encoded.append(UInt8(ascii: "%"))
                encoded += [byte >> 4, byte & 15].map { $0 < 10 ? UInt8(ascii: "0") + $0 : UInt8(ascii: "A") + $0 - 10 }
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// The decoded name of `name=value`, in which `+` is a space.
    private static func name(of field: Substring) -> [UInt8] {
        var name: [UInt8] = []
        var rest = field.utf8.prefix { $0 != UInt8(ascii: "=") }
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap(\.hexadecimalValue)
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                name.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else {
                name.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return name
    }
}

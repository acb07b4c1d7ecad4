package import Commands
internal import HTTPClient
package import Operations

/// Takes the members of a payload one by one, and refuses those that are left.
package struct PayloadReader {
    private let operation: String
    private let keys: String
    private var members: [JSONValue.Member]

    /// - Parameters:
    ///   - operation: as in “the payload of a request”.
    ///   - keys: the known ones, for messages.
    package init(_ value: JSONValue, of operation: String, keys: String) throws(PayloadError) {
        guard let members = value.members else {
            throw PayloadError(.data, "the payload of \(operation) must be an object, not \(value.kind)")
        }
        self.operation = operation
        self.keys = keys
        self.members = members
    }

    /// - Returns: nil where the member is missing.
    package mutating func take(_ key: String) -> JSONValue? {
        guard let index = members.firstIndex(where: { $0.name == key }) else { return nil }
        return members.remove(at: index).value
    }

    package mutating func text(_ key: String, isRequired: Bool = false) throws(PayloadError) -> String? {
        guard let value = take(key) else {
            if isRequired { throw PayloadError(.data, "“\(key)” is missing in the payload of \(operation)") }
            return nil
        }
        guard let text = value.string else {
            throw PayloadError(.data, "“\(key)” must be a string, not \(value.kind)")
        }
        return text
    }

    package mutating func flag(_ key: String) throws(PayloadError) -> Bool? {
        guard let value = take(key) else { return nil }
        guard let flag = value.bool else {
            throw PayloadError(.data, "“\(key)” must be true or false, not \(value.kind)")
        }
        return flag
    }

    package mutating func integer(_ key: String, in range: ClosedRange<Int64>) throws(PayloadError) -> Int64? {
        guard let value = take(key) else { return nil }
        guard let number = value.integer, range.contains(number) else {
            throw PayloadError(
                .data,
                "“\(key)” must be a whole number from \(range.lowerBound) to \(range.upperBound), not \(value.text.prefix(40))"
            )
        }
        return number
    }

    /// Seconds, or a text such as `30s`.
    package mutating func seconds(_ key: String, in range: ClosedRange<Int64>) throws(PayloadError) -> Int64? {
        guard let value = take(key) else { return nil }
        guard let seconds = value.wholeSeconds, range.contains(seconds) else {
            throw PayloadError(
                .data,
                "“\(key)” must be a whole number of seconds from \(range.lowerBound) to \(range.upperBound), or a time such "
                    + "as 30s, not \(value.text.prefix(40))")
        }
        return seconds
    }

    package mutating func texts(_ key: String, max: Int) throws(PayloadError) -> [String] {
        guard let value = take(key) else { return [] }
        guard let elements = value.elements, elements.count <= max else {
            throw PayloadError(.data, "“\(key)” must be an array of at most \(max) strings, not \(value.kind)")
        }
        var texts: [String] = []
        for element in elements {
            guard let text = element.string else {
                throw PayloadError(.data, "“\(key)” has \(element.kind) among its strings")
            }
            texts.append(text)
        }
        return texts
    }

    /// Header fields: an object of strings.
    package mutating func headers(_ key: String) throws(PayloadError) -> [HTTPField] {
        guard let value = take(key) else { return [] }
        return try Self.headers(JSONValue.Member(key, value))
    }

    package static func headers(_ member: JSONValue.Member) throws(PayloadError) -> [HTTPField] {
        guard let members = member.value.members else {
            throw PayloadError(.data, "“\(member.name)” must be an object, not \(member.value.kind)")
        }
        var headers: [HTTPField] = []
        var names: Set<String> = []
        for header in members {
            guard let text = header.value.string else {
                throw PayloadError(
                    .data, "the header “\(header.name)” in “\(member.name)” must be a string, not \(header.value.kind)")
            }
            if let objection = HTTPHeaderRules.objection(to: header.name, value: text) {
                throw PayloadError(.data, objection)
            }
            guard names.insert(header.name.lowercased()).inserted else {
                throw PayloadError(.data, "the header “\(header.name)” occurs twice; join its values with a comma")
            }
            headers.append(HTTPField(header.name, text))
        }
        return headers
    }

    /// - Throws: ``PayloadError`` for a member that was not taken.
    package func finish() throws(PayloadError) {
        guard let member = members.first else { return }
        throw PayloadError(.data, "unknown key “\(member.name)” in the payload of \(operation); it has \(keys)")
    }
}

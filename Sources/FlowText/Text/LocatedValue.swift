package import Commands

/// A value of a text, with the positions of the values in it.
package struct LocatedValue: Sendable {
    /// A member of an object.
    package struct Member: Sendable {
        package var name: String
        /// The position of the name.
        package var position: SourcePosition
        package var value: LocatedValue
    }

    package let value: JSONValue
    private let map: SourceMap
    private let index: Int

    /// - Parameter index: the entry of `value` in `map`.
    init(_ value: JSONValue, in map: SourceMap, at index: Int = 0) {
        self.value = value
        self.map = map
        self.index = index
    }

    /// The first character of the value.
    package var position: SourcePosition { map.entries[index].position }

    /// The members of an object in their order; nil for any other kind.
    package var members: [Member]? {
        guard case .object(let members) = value else { return nil }
        var next = index + 1
        return members.map { member in
            let child = LocatedValue(member.value, in: map, at: next)
            defer { next = map.end(of: next) }
            return Member(name: member.name, position: map.entries[next].name, value: child)
        }
    }

    /// The elements of an array; nil for any other kind.
    package var elements: [LocatedValue]? {
        guard case .array(let elements) = value else { return nil }
        var next = index + 1
        return elements.map { element in
            defer { next = map.end(of: next) }
            return LocatedValue(element, in: map, at: next)
        }
    }

    /// The value at a pointer; nil where there is none.
    package func at(_ pointer: JSONPointer) -> LocatedValue? {
        var found = self
        for token in pointer.tokens {
            guard let next = found.child(token) else { return nil }
            found = next
        }
        return found
    }

    /// The position of the value at the text of a pointer (RFC 6901), or of the nearest value around it.
    ///
    /// Unlike a ``Commands/JSONPointer`` the text has no maximum length.
    func position(at pointer: String) -> SourcePosition {
        var found = self
        for part in pointer.utf8.split(separator: .slash, omittingEmptySubsequences: false).dropFirst() {
            // A part of a pointer that was made from a value is valid by itself, but for a very long name.
            let token = try? JSONPointer("/" + String(decoding: part, as: UTF8.self)).tokens.first
            guard let token, let next = found.child(token) else { break }
            found = next
        }
        return found.position
    }

    private func child(_ token: [UInt8]) -> LocatedValue? {
        if let members { return members.first { $0.name.utf8.elementsEqual(token) }?.value }
        guard let elements, let index = JSONPointer.index(token), index < elements.count else { return nil }
        return elements[index]
    }
}

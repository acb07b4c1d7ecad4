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

    /// The text of a scalar after YAML has removed its quotes; “~” and a value that is left out are the empty text. Nil for
    /// an array and an object.
    ///
    /// ``YAMLText/parseConfiguration(_:)`` keeps the text of the document: `0123`, `1.50`, `TRUE`. For a value of
    /// ``YAMLText/parse(_:)`` it is that of the JSON value: `123`, `1.5`, `true`.
    package var text: String? { map.texts[index] ?? SourceMap.text(of: value) }

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

/// The positions of all values of a text. A value comes before the values in it, in the order of the text.
struct SourceMap: Sendable {
    /// A value, in 20 bytes: a text of 64 MiB has at most 64 million of them.
    struct Entry: Sendable {
        private var line: Int32
        private var column: Int32
        private var nameLine: Int32
        private var nameColumn: Int32
        /// The value itself and all values in it.
        var count: Int32 = 1

        /// - Parameter name: the position of the member's name; the value's own where it is not a member.
        init(_ position: SourcePosition, name: SourcePosition) {
            line = Int32(clamping: position.line)
            column = Int32(clamping: position.column)
            nameLine = Int32(clamping: name.line)
            nameColumn = Int32(clamping: name.column)
        }

        var position: SourcePosition { SourcePosition(line: Int(line), column: Int(column)) }
        var name: SourcePosition { SourcePosition(line: Int(nameLine), column: Int(nameColumn)) }
    }

    private(set) var entries: [Entry] = []
    /// The texts of scalars, by the indices of their entries, where ``text(of:)`` differs.
    private(set) var texts: [Int: String] = [:]

    /// The text of a scalar in the form of its JSON value; nil for an array and an object.
    static func text(of value: JSONValue) -> String? {
        switch value {
        case .string(let text): text
        case .null: ""
        case .array, .object: nil
        case .bool, .integer, .number, .decimal: value.text
        }
    }

    /// Keeps the text of a scalar as the document has it.
    mutating func keep(_ text: String, of value: JSONValue, at index: Int) {
        if !(Self.text(of: value)?.utf8.elementsEqual(text.utf8) ?? true) { texts[index] = text }
    }

    /// Begins a value. Its ``close(_:)`` follows the values in it.
    /// - Returns: the index of the entry.
    mutating func open(_ position: SourcePosition, name: SourcePosition?) -> Int {
        entries.append(Entry(position, name: name ?? position))
        return entries.count - 1
    }

    mutating func close(_ index: Int) { entries[index].count = Int32(clamping: entries.count - index) }

    /// Repeats the positions of an earlier value for an alias, which has a position of its own.
    mutating func repeatEntries(_ range: Range<Int>, at position: SourcePosition, name: SourcePosition?) {
        let first = entries.count
        entries.append(contentsOf: entries[range])
        entries[first] = Entry(position, name: name ?? position)
        entries[first].count = Int32(clamping: range.count)
        guard !texts.isEmpty else { return }
        for index in range { texts[first + index - range.lowerBound] = texts[index] }
    }

    /// The index of the entry after a value and all values in it.
    func end(of index: Int) -> Int { index + Int(entries[index].count) }
}

/// A position in a text.
package struct SourcePosition: Sendable, Hashable, Comparable {
    /// From 1.
    package var line: Int
    /// Characters (Unicode scalars) from the start of the line, from 1.
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }

    /// The position of a byte: continuation bytes of UTF-8 do not count.
    /// - Parameter offset: bytes from the start of `text`; an offset beyond its end is the end.
    init(offset: Int, in text: UnsafeBufferPointer<UInt8>) {
        let before = text.prefix(max(offset, 0))
        line = 1 + before.count { $0 == 0x0A }
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        column = 1 + before[start...].count { $0 & 0xC0 != 0x80 }
    }
}

/// Why and where a text is not YAML or JSON that can be used.
package struct SourceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The position of the problem; nil where it is the whole text.
    package var position: SourcePosition?
    /// A sentence without a full stop at its end, and without the position.
    package var problem: String

    package var description: String { position.map { "line \($0.line): \(problem)" } ?? problem }
}

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
    }

    /// The index of the entry after a value and all values in it.
    func end(of index: Int) -> Int { index + Int(entries[index].count) }
}

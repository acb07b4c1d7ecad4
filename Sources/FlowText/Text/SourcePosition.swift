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

/// Finds a sequence of bytes in linear time (Knuth, Morris and Pratt, 1977). Pure.
struct BytePattern: Sendable {
    let bytes: [UInt8]
    /// For each prefix the length of its longest border: a shorter prefix that is its suffix too.
    private let borders: [Int]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var borders = [Int](repeating: 0, count: bytes.count)
        var length = 0
        for index in bytes.indices.dropFirst() {
            while length > 0, bytes[index] != bytes[length] { length = borders[length - 1] }
            if bytes[index] == bytes[length] { length += 1 }
            borders[index] = length
        }
        self.borders = borders
    }

    /// All occurrences, also those that overlap.
    /// - Returns: `partAtEnd` is the length of the longest suffix of `text` that is a prefix of the pattern.
    func occurrences(in text: [UInt8]) -> (ranges: [Range<Int>], partAtEnd: Int) {
        guard !bytes.isEmpty else { return ([], 0) }
        var ranges: [Range<Int>] = []
        var length = 0
        for (index, byte) in text.enumerated() {
            while length > 0, length == bytes.count || byte != bytes[length] { length = borders[length - 1] }
            if byte == bytes[length] { length += 1 }
            if length == bytes.count { ranges.append(index + 1 - length..<index + 1) }
        }
        return (ranges, length)
    }
}

/// Yields the lines of NDJSON, each of which is a record. Lines of white space are skipped. Pure.
struct LineScan: Sendable {
    private let maxRecord: Int
    private var reader: RecordReader
    /// The start of a line that goes on in the next chunk.
    private var buffer: [UInt8] = []
    /// Bytes of the line, with white space.
    private var size = 0
    private var count = 0

    init(_ plan: ScanPlan) {
        maxRecord = plan.maxRecord
        reader = RecordReader(locating: plan.fields)
    }

    /// - Returns: the next record; nil where the chunk is used up.
    mutating func next(_ chunk: BodyChunk, _ position: inout Int) -> ScannedElement? {
        while position < chunk.bytes.count {
            let end = Self.newline(chunk.bytes, from: position)
            guard end < chunk.bytes.count else {
                append(chunk, position..<end)
                position = end
                return nil
            }
            defer { removeBuffer() }
            let isHeld = size == 0
            if isHeld { size = end - position } else { append(chunk, position..<end) }
            let line = isHeld ? chunk.array[position..<end] : buffer[...]
            position = end + 1
            if let element = element(line) { return element }
        }
        return nil
    }

    /// The body has ended after `size` bytes.
    /// - Returns: the last record, where no line feed stands after it.
    mutating func finish(size: Int) throws(PageProblem) -> ScannedElement? {
        defer { removeBuffer() }
        guard let element = element(buffer[...]) else { return nil }
        // A record that cannot be read and has no line feed was most likely cut off.
        if case .syntax? = element.problem { throw .cut(after: size) }
        return element
    }

    /// - Parameter line: empty where it was dropped for its ``size``.
    private mutating func element(_ line: ArraySlice<UInt8>) -> ScannedElement? {
        guard size <= maxRecord else {
            defer { count += 1 }
            return ScannedElement(
                list: .items, index: count, bytes: [], problem: .tooLarge(bytes: size, max: maxRecord), fields: [])
        }
        let record = Self.trimmed(line)
        guard !record.isEmpty else { return nil }
        defer { count += 1 }
        let problem = reader.readWhole(record)
        return ScannedElement(list: .items, index: count, bytes: record, problem: problem, fields: reader.fields)
    }

    private mutating func append(_ chunk: BodyChunk, _ range: Range<Int>) {
        size += range.count
        if size > maxRecord {
            if !buffer.isEmpty { buffer = [] }
        } else {
            buffer.append(contentsOf: chunk.array[range])
        }
    }

    private mutating func removeBuffer() {
        buffer.removeAll(keepingCapacity: true)
        size = 0
    }

    private static func newline(_ bytes: JSONBytes, from start: Int) -> Int {
        var position = start
        while position + 8 <= bytes.count {
            let hits = ByteSearch.newlines(bytes.word(at: position))
            guard hits == 0 else { return position + hits.trailingZeroBitCount >> 3 }
            position += 8
        }
        while position < bytes.count, bytes[position] != 0x0A { position += 1 }
        return position
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let start = line.drop(while: \.isJSONSpace)
        guard let last = start.lastIndex(where: { !$0.isJSONSpace }) else { return [] }
        return start[...last]
    }
}

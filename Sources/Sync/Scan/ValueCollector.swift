/// Collects the bytes of one value that may go on over several chunks, up to a limit. Pure.
struct ValueCollector: Sendable {
    enum Step {
        case more
        /// All bytes of the value.
        case whole(ArraySlice<UInt8>)
        /// The value ended beyond the limit; its bytes were dropped.
        case tooLarge(Int)
        /// The bracket at the position closes another kind than the one that is open.
        case mismatch
    }

    private var framer = ValueFramer(first: 0)
    private var buffer: [UInt8] = []
    private var size = 0
    private var limit = 0

    /// - Parameters:
    ///   - first: the first byte of the value, which ``advance(_:_:)`` reads again.
    ///   - limit: bytes.
    mutating func begin(first: UInt8, limit: Int) {
        framer = ValueFramer(first: first)
        buffer.removeAll(keepingCapacity: true)
        size = 0
        self.limit = limit
    }

    mutating func advance(_ chunk: BodyChunk, _ position: inout Int) -> Step {
        let start = position
        switch framer.advance(chunk.bytes, from: start) {
        case .mismatch(let at):
            position = at
            return .mismatch
        case .more:
            position = chunk.bytes.count
            append(chunk, start..<position)
            return .more
        case .ended(let end):
            position = end
            guard size > 0 else {
                return end - start > limit ? .tooLarge(end - start) : .whole(chunk.array[start..<end])
            }
            append(chunk, start..<end)
            return collected
        }
    }

    /// The body has ended.
    /// - Returns: the value if it is a number or a literal, which ends with the body; nil for any other.
    mutating func finish() -> Step? { framer.isScalar ? collected : nil }

    private var collected: Step { size > limit ? .tooLarge(size) : .whole(buffer[...]) }

    private mutating func append(_ chunk: BodyChunk, _ range: Range<Int>) {
        size += range.count
        if size > limit {
            // A record of the usual size needs the buffer again; a large one would hold its memory for ever.
            if !buffer.isEmpty { buffer = [] }
        } else {
            buffer.append(contentsOf: chunk.array[range])
        }
    }
}

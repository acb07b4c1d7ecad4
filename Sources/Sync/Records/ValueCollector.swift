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

/// Finds the end of a JSON value over any number of chunks by its quotes and brackets alone, so that a
/// malformed record can be left out and the next one read. Pure.
///
/// Memory is constant: the kinds of the innermost brackets beyond 64 levels are not compared.
struct ValueFramer: Sendable {
    enum Step: Equatable {
        /// The value goes on in the next chunk.
        case more
        /// The value ends before this position.
        case ended(Int)
        /// A bracket at this position closes another kind than the one that is open.
        case mismatch(Int)
    }

    private enum Kind {
        case container, string, scalar
    }

    private let kind: Kind
    /// A bit for each open bracket up to 64 levels, the innermost lowest; set for an object.
    private var objects: UInt64 = 0
    private var depth = 0
    private var isInString = false
    private var isAfterBackslash = false

    /// - Parameter first: the first byte of the value, which ``advance(_:from:)`` reads again.
    init(first: UInt8) {
        switch first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): kind = .container
        case UInt8(ascii: "\""): kind = .string
        default: kind = .scalar
        }
    }

    /// Whether the value is a number or a literal, which has no end of its own.
    var isScalar: Bool { kind == .scalar }

    mutating func advance(_ bytes: JSONBytes, from start: Int) -> Step {
        switch kind {
        case .scalar: scalar(bytes, from: start)
        case .string, .container: structure(bytes, from: start)
        }
    }

    private func scalar(_ bytes: JSONBytes, from start: Int) -> Step {
        var position = start
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), 0x20, 0x09, 0x0A, 0x0D:
                return .ended(position)
            default: position += 1
            }
        }
        return .more
    }

    private mutating func structure(_ bytes: JSONBytes, from start: Int) -> Step {
        var position = start
        while position < bytes.count {
            if isInString {
                position = stringEnd(bytes, from: position)
                guard position < bytes.count else { return .more }
                position += 1
                if depth == 0 { return .ended(position) }
                continue
            }
            switch bytes[position] {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"): open(isObject: true)
            case UInt8(ascii: "["): open(isObject: false)
            case UInt8(ascii: "}"):
                guard close(isObject: true) else { return .mismatch(position) }
            case UInt8(ascii: "]"):
                guard close(isObject: false) else { return .mismatch(position) }
            default: break
            }
            position += 1
            if depth == 0, !isInString { return .ended(position) }
        }
        return .more
    }

    /// - Returns: the position of the closing quote, or the end of the chunk.
    private mutating func stringEnd(_ bytes: JSONBytes, from start: Int) -> Int {
        var position = start
        if isAfterBackslash, position < bytes.count {
            isAfterBackslash = false
            position += 1
        }
        while position < bytes.count {
            if position + 8 <= bytes.count {
                let hits = ByteSearch.stringEnds(bytes.word(at: position))
                guard hits != 0 else {
                    position += 8
                    continue
                }
                position += hits.trailingZeroBitCount >> 3
            }
            switch bytes[position] {
            case UInt8(ascii: "\""):
                isInString = false
                return position
            case UInt8(ascii: "\\"):
                guard position + 1 < bytes.count else {
                    isAfterBackslash = true
                    return bytes.count
                }
                position += 2
            default: position += 1
            }
        }
        return bytes.count
    }

    private mutating func open(isObject: Bool) {
        if depth < 64 { objects = objects << 1 | (isObject ? 1 : 0) }
        depth += 1
    }

    private mutating func close(isObject: Bool) -> Bool {
        depth -= 1
        guard depth < 64 else { return true }
        defer { objects >>= 1 }
        return objects & 1 == (isObject ? 1 : 0)
    }
}

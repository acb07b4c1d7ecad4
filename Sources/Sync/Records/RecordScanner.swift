internal import Commands
internal import Transfers

/// Finds the records in the body of a page, which arrives in chunks, and the values around them. Pure.
///
/// Memory: one chunk and one record. A record that is malformed is yielded with its problem as far as its
/// end can be found by quotes and brackets; otherwise the page is malformed.
///
/// ```
/// for each chunk:  scanner.feed(chunk)
///                  while let element = try scanner.next() { … }
/// at the end:      scanner.finish()
///                  while let element = try scanner.next() { … }
///                  scanner.envelope
/// ```
struct RecordScanner: Sendable {

    private enum Phase {
        /// - Parameter matched: bytes of the byte order mark.
        case mark(matched: Int)
        case firstByte
        case body
        case done
    }

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    /// Bytes of the body that messages show.
    private static let shownBytes = 200

    private let plan: ScanPlan
    private var json: JSONScan
    private var lines: LineScan
    private var phase = Phase.mark(matched: 0)
    private var chunk: [UInt8] = []
    private var position = 0
    /// Bytes of the body before the chunk.
    private var offset = 0
    private var isFinished = false
    private var problem: PageProblem?
    /// The start of the body.
    private var start: [UInt8] = []

    init(_ plan: ScanPlan) {
        self.plan = plan
        json = JSONScan(plan)
        lines = LineScan(plan)
    }

    /// Bytes of the body that were fed.
    var received: Int { offset + chunk.count }

    /// Complete only after ``next()`` has returned nil behind ``finish()``.
    var envelope: Envelope { json.envelope }

    /// Adds a part of the body. The elements of the part before have been read.
    mutating func feed(_ bytes: [UInt8]) {
        if start.count < Self.shownBytes { start.append(contentsOf: bytes.prefix(Self.shownBytes - start.count)) }
        if position < chunk.count {
            // Only the wait for more of an HTML page leaves bytes behind.
            chunk.append(contentsOf: bytes)
        } else {
            offset += chunk.count
            chunk = bytes
            position = 0
        }
    }

    /// Says that the body is complete.
    mutating func finish() { isFinished = true }

    /// - Returns: the next element of a list; nil where the part is used up, or the body after ``finish()``.
    /// - Throws: ``PageProblem``; then the page is lost, and every later call throws the same.
    mutating func next() throws(PageProblem) -> ScannedElement? {
        if let problem { throw problem }
        do {
            return try advance()
        } catch {
            problem = error
            throw error
        }
    }

    private mutating func advance() throws(PageProblem) -> ScannedElement? {
        let array = chunk
        let element = try array.withUnsafeBufferPointer { bytes throws(PageProblem) in
            try advance(BodyChunk(array: array, bytes: bytes, offset: offset))
        }
        if let element { return element }
        guard isFinished, position == chunk.count else { return nil }
        return try end()
    }

    private mutating func advance(_ chunk: BodyChunk) throws(PageProblem) -> ScannedElement? {
        while true {
            switch phase {
            case .mark(let matched):
                guard position < chunk.bytes.count else { return nil }
                if matched == Self.mark.count || (matched == 0 && chunk.bytes[position] != Self.mark[0]) {
                    phase = .firstByte
                } else {
                    guard chunk.bytes[position] == Self.mark[matched] else {
                        throw .malformed(at: chunk.offset + position, "no JSON value starts with this character")
                    }
                    position += 1
                    phase = .mark(matched: matched + 1)
                }
            case .firstByte:
                position = chunk.bytes.skippingSpace(from: position)
                guard position < chunk.bytes.count else { return nil }
                if chunk.bytes[position] == UInt8(ascii: "<") {
                    guard isFinished || start.count >= Self.shownBytes else { return nil }
                    throw .html(start: PageProblem.printable(start))
                }
                guard chunk.bytes[position] != UInt8(ascii: ")") else { throw .prefixed }
                phase = .body
            case .body:
                switch plan.format {
                case .json: return try json.next(chunk, &position)
                case .ndjson: return lines.next(chunk, &position)
                }
            case .done: return nil
            }
        }
    }

    private mutating func end() throws(PageProblem) -> ScannedElement? {
        switch phase {
        case .done: return nil
        case .mark(matched: 1), .mark(matched: 2): throw .cut(after: received)
        case .mark, .firstByte, .body: phase = .done
        }
        switch plan.format {
        case .ndjson: return try lines.finish(size: received)
        case .json:
            try json.finish(size: received)
            try check(.items, plan.items)
            if let deleted = plan.deletedItems { try check(.deletedItems, deleted) }
            return nil
        }
    }

    /// Deleted keys may be missing or null; the records may not.
    private func check(_ list: ScanPlan.List, _ pointer: JSONPointer) throws(PageProblem) {
        func refuse(_ found: String?) -> PageProblem {
            .noArray(pointer, found: found, start: PageProblem.printable(start))
        }
        switch envelope[list] {
        case .array: break
        case .nothing: if list == .items { throw refuse(nil) }
        case .other("null"): if list == .items { throw refuse("null") }
        case .other(let kind): throw refuse(kind)
        }
    }
}

/// One element of a list in the body of a page.
struct ScannedElement: Sendable {
    var list: ScanPlan.List
    /// From 0, in the list.
    var index: Int
    /// The exact bytes, without white space around them; empty where they were not held
    /// (``RecordProblem/tooLarge(bytes:max:)``).
    var bytes: ArraySlice<UInt8>
    /// Why it is left out; nil: it is valid JSON.
    var problem: RecordProblem?
    /// Where the values of ``ScanPlan/fields`` stand, as indices of ``bytes``.
    var fields: [Range<Int>?]

    /// The JSON text of a field; nil where the record has none.
    func field(_ position: Int) -> ArraySlice<UInt8>? {
        guard position < fields.count, let range = fields[position] else { return nil }
        return bytes[range]
    }
}

/// The parts of a body beside the elements of its lists.
struct Envelope: Sendable, Equatable {
    /// The kind of value at the pointer of a list.
    enum Found: Sendable, Equatable {
        case nothing
        case array
        case other(String)
    }

    var items = Found.nothing
    var deletedItems = Found.nothing
    /// In the order of ``ScanPlan/values``, then of ``ScanPlan/signs``.
    var values: [EnvelopeValue]

    subscript(_ list: ScanPlan.List) -> Found {
        get {
            switch list {
            case .items: items
            case .deletedItems: deletedItems
            }
        }
        set {
            switch list {
            case .items: items = newValue
            case .deletedItems: deletedItems = newValue
            }
        }
    }
}

/// A part of a body while it is scanned.
struct BodyChunk {
    let array: [UInt8]
    /// The bytes of ``array``.
    let bytes: JSONBytes
    /// Bytes of the body before this part.
    let offset: Int
}

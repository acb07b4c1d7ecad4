internal import Transfers

/// Descends one JSON text to its lists and yields their elements. Pure.
///
/// The text around the lists is checked as strictly as the records, with two exceptions: a string of more
/// than ``ScanPlan/maxRecord`` bytes is skipped without a check, and a name that occurs twice is refused only
/// where a pointer leads through it.
struct JSONScan: Sendable {
    private enum Expectation {
        case value, elementOrEnd, nameOrEnd, name, colon, commaOrEnd, nothing
    }

    private enum Role {
        case element(ScanPlan.List)
        /// A value at a pointer of ``ScanPlan/values``.
        case capture(node: Int)
        case skip
        case name
    }

    private struct Level: Sendable {
        var isObject: Bool
        var node: Int
        var list: ScanPlan.List?
        var index = 0
        /// The nodes of its members on a pointer's path.
        var seen: [Int] = []
    }

    private let maxRecord: Int
    private let lists: [ScanPlan.List]
    private let tree: PointerTree
    /// The first node to which only ``ScanPlan/signs`` lead.
    private let firstSignNode: Int
    private var expectation = Expectation.value
    private var levels: [Level] = []
    /// The node of the value that comes next.
    private var node = PointerTree.root
    /// The value that goes on in the next chunk.
    private var role: Role?
    private var collector = ValueCollector()
    private var recordReader: RecordReader
    private var valueReader = RecordReader()
    private var counts = [0, 0]
    private(set) var envelope: Envelope

    init(_ plan: ScanPlan) {
        maxRecord = plan.maxRecord
        lists = plan.deletedItems == nil ? [.items] : [.items, .deletedItems]
        let read = [plan.items] + [plan.deletedItems].compactMap(\.self) + plan.values
        firstSignNode = PointerTree(read).count
        tree = PointerTree(read + plan.signs)
        recordReader = RecordReader(locating: plan.fields)
        envelope = Envelope(values: Array(repeating: .missing, count: plan.values.count + plan.signs.count))
    }

    /// - Returns: the next element; nil where the chunk is used up.
    mutating func next(_ chunk: BodyChunk, _ position: inout Int) throws(PageProblem) -> ScannedElement? {
        while true {
            if let role {
                let step = collector.advance(chunk, &position)
                if case .more = step { return nil }
                if let element = try complete(role, step, chunk.offset + position) { return element }
                continue
            }
            position = chunk.bytes.skippingSpace(from: position)
            guard position < chunk.bytes.count else { return nil }
            let byte = chunk.bytes[position]
            switch (expectation, byte) {
            case (.value, _): if let element = try begin(chunk, &position) { return element }
            case (.elementOrEnd, UInt8(ascii: "]")), (.nameOrEnd, UInt8(ascii: "}")): close(&position)
            case (.elementOrEnd, _): if let element = try begin(chunk, &position) { return element }
            case (.nameOrEnd, UInt8(ascii: "\"")), (.name, UInt8(ascii: "\"")): beginName(byte)
            case (.colon, UInt8(ascii: ":")):
                position += 1
                expectation = .value
            case (.commaOrEnd, UInt8(ascii: ",")):
                position += 1
                separate()
            case (.commaOrEnd, UInt8(ascii: "]")) where levels.last?.isObject == false: close(&position)
            case (.commaOrEnd, UInt8(ascii: "}")) where levels.last?.isObject == true: close(&position)
            case (.nothing, _): throw .trailing(at: chunk.offset + position)
            case (.nameOrEnd, _), (.name, _), (.colon, _), (.commaOrEnd, _):
                throw .malformed(at: chunk.offset + position, expected)
            }
        }
    }

    /// The body has ended after `size` bytes.
    mutating func finish(size: Int) throws(PageProblem) {
        if let role, levels.isEmpty, let step = collector.finish() { _ = try complete(role, step, size) }
        guard role == nil, expectation == .nothing else { throw .cut(after: size) }
    }

    private var expected: String {
        switch expectation {
        case .nameOrEnd, .name: "expected the name of a member in quotes"
        case .colon: "expected “:” after a name"
        case .commaOrEnd, .value, .elementOrEnd, .nothing:
            levels.last?.isObject == true ? "expected “,” or “}” in an object" : "expected “,” or “]” in an array"
        }
    }

    // MARK: Structure

    private mutating func open(isObject: Bool, list: ScanPlan.List? = nil) {
        levels.append(Level(isObject: isObject, node: node, list: list))
        expectation = isObject ? .nameOrEnd : .elementOrEnd
        if !isObject { node = list == nil ? tree.child(of: node, at: 0) : PointerTree.none }
    }

    private mutating func close(_ position: inout Int) {
        position += 1
        levels.removeLast()
        expectation = levels.isEmpty ? .nothing : .commaOrEnd
    }

    private mutating func separate() {
        let last = levels.count - 1
        guard !levels[last].isObject else {
            expectation = .name
            return
        }
        expectation = .value
        guard levels[last].list == nil else { return }
        levels[last].index += 1
        node = tree.child(of: levels[last].node, at: levels[last].index)
    }

    private mutating func beginName(_ first: UInt8) {
        collector.begin(first: first, limit: ScanPlan.maxValue)
        role = .name
    }

    // MARK: Values

    /// - Parameter position: of the first byte of a value.
    private mutating func begin(_ chunk: BodyChunk, _ position: inout Int) throws(PageProblem) -> ScannedElement? {
        let first = chunk.bytes[position]
        switch first {
        case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ":"):
            throw .malformed(at: chunk.offset + position, "no JSON value starts with this character")
        default: break
        }
        let isContainer = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        let role = chooseRole(first)
        if case .skip = role, isContainer, tree.hasChildren(node) || isList(first) {
            guard levels.count < RecordReader.maxDepth else { throw tooDeep(chunk, position) }
            open(isObject: first == UInt8(ascii: "{"), list: isList(first) ? list(at: node) : nil)
            position += 1
            return nil
        }
        if isContainer || first == UInt8(ascii: "\""), let end = readWithin(chunk, position, role) {
            let value = chunk.array[position..<end]
            position = end
            return try complete(role, value, isRead: true, chunk.offset + end)
        }
        if case .skip = role, isContainer {
            // Its parts are checked one by one, because the whole may be too large to hold.
            guard levels.count < RecordReader.maxDepth else { throw tooDeep(chunk, position) }
            open(isObject: first == UInt8(ascii: "{"))
            position += 1
            return nil
        }
        collector.begin(first: first, limit: limit(of: role))
        self.role = role
        return nil
    }

    private func limit(of role: Role) -> Int {
        switch role {
        case .element, .skip: maxRecord
        case .capture, .name: ScanPlan.maxValue
        }
    }

    private mutating func chooseRole(_ first: UInt8) -> Role {
        if let list = levels.last?.list { return .element(list) }
        guard node >= 0 else { return .skip }
        if let list = list(at: node) {
            envelope[list] = first == UInt8(ascii: "[") ? .array : .other(first.kindOfJSONValue)
            return .skip
        }
        return tree.ends(at: node).isEmpty ? .skip : .capture(node: node)
    }

    private func isList(_ first: UInt8) -> Bool { first == UInt8(ascii: "[") && list(at: node) != nil }

    private func list(at node: Int) -> ScanPlan.List? {
        tree.ends(at: node).first { $0 < lists.count }.map { lists[$0] }
    }

    /// Reads a value that ends within the chunk in one pass.
    /// - Returns: its end; nil where it goes on, is too large or malformed. The slower way tells these apart.
    private mutating func readWithin(_ chunk: BodyChunk, _ start: Int, _ role: Role) -> Int? {
        do throws(RecordReader.Failure) {
            guard case .skip = role else {
                let end =
                    if case .element = role {
                        try recordReader.read(chunk.bytes, from: start)
                    } else {
                        try valueReader.read(chunk.bytes, from: start, depth: levels.count)
                    }
                return end - start <= limit(of: role) ? end : nil
            }
            let end = try valueReader.read(chunk.bytes, from: start, depth: levels.count)
            // The parts are read one by one to say where the flaw is.
            return valueReader.flaw?.isInText == true ? nil : end
        } catch {
            return nil
        }
    }

    private func tooDeep(_ chunk: BodyChunk, _ position: Int) -> PageProblem {
        .malformed(at: chunk.offset + position, "nested deeper than \(RecordReader.maxDepth)")
    }

    // MARK: Complete values

    /// - Parameter end: bytes of the body up to the end of the value.
    private mutating func complete(
        _ role: Role, _ step: ValueCollector.Step, _ end: Int
    ) throws(PageProblem) -> ScannedElement? {
        self.role = nil
        switch step {
        case .more: return nil
        case .mismatch: throw .malformed(at: end, "a bracket closes another kind than the open one")
        case .whole(let value): return try complete(role, value, isRead: false, end)
        case .tooLarge(let size):
            switch role {
            case .element(let list): return element(list, [], .tooLarge(bytes: size, max: maxRecord), fields: [])
            case .capture(let node): capture(.tooLong, node)
            case .skip: expectation = levels.isEmpty ? .nothing : .commaOrEnd
            case .name:
                node = PointerTree.none
                expectation = .colon
            }
            return nil
        }
    }

    /// - Parameter isRead: whether the reader of the role has just read the value.
    private mutating func complete(
        _ role: Role, _ value: ArraySlice<UInt8>, isRead: Bool, _ end: Int
    ) throws(PageProblem) -> ScannedElement? {
        guard case .element(let list) = role else {
            if let problem = isRead ? valueReader.problem : valueReader.readWhole(value, depth: levels.count) {
                // Elsewhere a duplicate name does no harm.
                if case .duplicateName = problem {} else { throw Self.malformed(problem, at: end - value.count) }
            }
            switch role {
            case .capture(let node): capture(EnvelopeValue(value), node)
            case .name: try register(name: value, end)
            case .skip, .element: expectation = levels.isEmpty ? .nothing : .commaOrEnd
            }
            return nil
        }
        let problem = isRead ? recordReader.problem : recordReader.readWhole(value)
        return element(list, value, problem, fields: recordReader.fields)
    }

    private mutating func element(
        _ list: ScanPlan.List, _ bytes: ArraySlice<UInt8>, _ problem: RecordProblem?, fields: [Range<Int>?]
    ) -> ScannedElement {
        expectation = .commaOrEnd
        defer { counts[list.rawValue] += 1 }
        return ScannedElement(list: list, index: counts[list.rawValue], bytes: bytes, problem: problem, fields: fields)
    }

    private mutating func capture(_ value: EnvelopeValue, _ node: Int) {
        expectation = levels.isEmpty ? .nothing : .commaOrEnd
        for end in tree.ends(at: node) where end >= lists.count { envelope.values[end - lists.count] = value }
    }

    private mutating func register(name quoted: ArraySlice<UInt8>, _ end: Int) throws(PageProblem) {
        expectation = .colon
        let last = levels.count - 1
        node = PointerTree.none
        guard tree.hasChildren(levels[last].node) else { return }
        var name: [UInt8] = []
        quoted.withUnsafeBufferPointer { JSONUnescaping.append($0, 1..<max($0.count - 1, 1), to: &name) }
        node = name.withUnsafeBufferPointer { tree.child(of: levels[last].node, named: $0) }
        guard node >= 0 else { return }
        guard !levels[last].seen.contains(node) || node >= firstSignNode else {
            throw .malformed(
                at: end - quoted.count,
                RecordProblem.duplicateName(String(decoding: name, as: UTF8.self)).reason)
        }
        levels[last].seen.append(node)
    }

    private static func malformed(_ problem: RecordProblem, at start: Int) -> PageProblem {
        if case .syntax(let at, let text) = problem { return .malformed(at: start + at, text) }
        return .malformed(at: start, problem.reason)
    }
}

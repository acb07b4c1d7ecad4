internal import Commands

/// Reads one JSON value in memory: checks it by RFC 8259 and locates the values that pointers lead to. Pure.
///
/// It refuses what `JSONValue(parsing:)` refuses, but for numbers beyond 64 bits: they are not converted, so
/// every number of the grammar is valid.
struct RecordReader: Sendable {
    /// Arrays and objects within each other, as in `JSONValue(parsing:)`.
    static let maxDepth = 64

    /// Why a value cannot be read to its end.
    enum Failure: Error {
        /// The bytes end within the value.
        case incomplete
        case tooDeep
        /// - Parameter at: bytes from the start of the buffer, from 0.
        case syntax(at: Int, StaticString)
    }

    /// A defect that does not hide where the value ends.
    enum Flaw: Sendable, Equatable {
        case duplicateName([UInt8])
        case invalidUTF8
        case loneSurrogate

        /// Whether a string of the value cannot be decoded.
        var isInText: Bool {
            switch self {
            case .duplicateName: false
            case .invalidUTF8, .loneSurrogate: true
            }
        }
    }

    private let tree: PointerTree
    private let fieldCount: Int
    /// Where the values of the pointers stand in the buffer, in the order of the pointers; nil where there is
    /// none.
    private(set) var fields: [Range<Int>?]
    private var strings = StringReader()
    /// The first name that occurs twice in one object.
    private var duplicateName: [UInt8]?
    private var names = NameRegister()
    /// A name through which a pointer leads occurs twice, so that the pointer has two values.
    private var isAmbiguous = false

    init(locating pointers: [JSONPointer] = []) {
        tree = PointerTree(pointers)
        fieldCount = pointers.count
        fields = Array(repeating: nil, count: pointers.count)
    }

    /// Reads the value that starts at `start`, after white space.
    /// - Parameter depth: the number of arrays and objects around the value.
    /// - Returns: the end of the value. A number that reaches the end of the buffer may go on.
    mutating func read(_ bytes: JSONBytes, from start: Int, depth: Int = 0) throws(Failure) -> Int {
        reset()
        let end = try value(bytes, start, PointerTree.root, depth)
        if isAmbiguous { clearFields() }
        return end
    }

    /// Reads bytes that hold one value and nothing else. ``fields`` are indices of the slice.
    mutating func readWhole(_ slice: ArraySlice<UInt8>, depth: Int = 0) -> RecordProblem? {
        slice.withUnsafeBufferPointer { bytes in
            do throws(Failure) {
                let end = try read(bytes, from: 0, depth: depth)
                guard end == bytes.count else { throw .syntax(at: end, "unexpected text after the value") }
                for index in 0..<fieldCount {
                    guard let range = fields[index] else { continue }
                    fields[index] = range.lowerBound + slice.startIndex..<range.upperBound + slice.startIndex
                }
                return problem
            } catch {
                clearFields()
                switch error {
                case .incomplete: return .syntax(at: bytes.count, "the text ends within a value")
                case .tooDeep: return .nestedTooDeep
                case .syntax(let at, let problem): return .syntax(at: at, "\(problem)")
                }
            }
        }
    }

    /// The first flaw in a string, or else the first duplicate name.
    var flaw: Flaw? { strings.flaw ?? duplicateName.map { .duplicateName($0) } }

    /// The flaw as the problem of a record.
    var problem: RecordProblem? {
        switch flaw {
        case nil: nil
        case .duplicateName(let name): .duplicateName(String(decoding: name, as: UTF8.self))
        case .invalidUTF8: .invalidUTF8
        case .loneSurrogate: .loneSurrogate
        }
    }

    private mutating func reset() {
        clearFields()
        strings.flaw = nil
        duplicateName = nil
        names.removeAll()
        isAmbiguous = false
    }

    private mutating func clearFields() { for index in 0..<fieldCount { fields[index] = nil } }

    // MARK: Values

    private mutating func value(
        _ bytes: JSONBytes, _ start: Int, _ node: Int, _ depth: Int
    ) throws(Failure) -> Int {
        guard start < bytes.count else { throw .incomplete }
        let end: Int
        switch bytes[start] {
        case UInt8(ascii: "\""): end = try strings.read(bytes, start + 1) + 1
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard depth < Self.maxDepth else { throw .tooDeep }
            let isObject = bytes[start] == UInt8(ascii: "{")
            end = try isObject ? object(bytes, start + 1, node, depth) : array(bytes, start + 1, node, depth)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): end = try number(bytes, start)
        case UInt8(ascii: "t"): end = try literal(bytes, start, "true")
        case UInt8(ascii: "f"): end = try literal(bytes, start, "false")
        case UInt8(ascii: "n"): end = try literal(bytes, start, "null")
        default: throw .syntax(at: start, "no JSON value starts with this character")
        }
        if node >= 0 { for field in tree.ends(at: node) { fields[field] = start..<end } }
        return end
    }

    private mutating func object(
        _ bytes: JSONBytes, _ start: Int, _ node: Int, _ depth: Int
    ) throws(Failure) -> Int {
        var position = bytes.skippingSpace(from: start)
        guard position < bytes.count else { throw .incomplete }
        if bytes[position] == UInt8(ascii: "}") { return position + 1 }
        var object = names.open()
        while true {
            guard position < bytes.count else { throw .incomplete }
            guard bytes[position] == UInt8(ascii: "\"") else {
                throw .syntax(at: position, "expected the name of a member in quotes")
            }
            let name = position + 1
            position = try strings.read(bytes, name)
            let child = register(bytes, name..<position, in: &object, node)
            position = bytes.skippingSpace(from: position + 1)
            guard position < bytes.count else { throw .incomplete }
            guard bytes[position] == UInt8(ascii: ":") else { throw .syntax(at: position, "expected “:” after a name") }
            position = try value(bytes, bytes.skippingSpace(from: position + 1), child, depth + 1)
            position = bytes.skippingSpace(from: position)
            guard position < bytes.count else { throw .incomplete }
            switch bytes[position] {
            case UInt8(ascii: ","): position = bytes.skippingSpace(from: position + 1)
            case UInt8(ascii: "}"):
                if let name = names.close(object, bytes) {
                    report(duplicate: name, node)
                    // Of several duplicates only one is found here.
                    if tree.hasChildren(node) { isAmbiguous = true }
                }
                return position + 1
            default: throw .syntax(at: position, "expected “,” or “}” in an object")
            }
        }
    }

    /// Adds a name to its object.
    /// - Returns: the node of its value.
    @inline(__always)
    private mutating func register(
        _ bytes: JSONBytes, _ name: Range<Int>, in object: inout NameRegister.Open, _ node: Int
    ) -> Int {
        guard !strings.hasEscape else {
            if let known = names.insertEscaped(bytes, name, in: &object) { report(duplicate: known, node) }
            guard node >= 0 else { return PointerTree.none }
            return names.lastUnescaped { tree.child(of: node, named: $0) } ?? PointerTree.none
        }
        if let known = names.insert(bytes, name, in: &object) { report(duplicate: known, node) }
        guard node >= 0 else { return PointerTree.none }
        return tree.child(of: node, named: JSONBytes(rebasing: bytes[name]))
    }

    private mutating func array(
        _ bytes: JSONBytes, _ start: Int, _ node: Int, _ depth: Int
    ) throws(Failure) -> Int {
        var position = bytes.skippingSpace(from: start)
        guard position < bytes.count else { throw .incomplete }
        if bytes[position] == UInt8(ascii: "]") { return position + 1 }
        var index = 0
        while true {
            let child = node >= 0 ? tree.child(of: node, at: index) : PointerTree.none
            position = try value(bytes, position, child, depth + 1)
            position = bytes.skippingSpace(from: position)
            guard position < bytes.count else { throw .incomplete }
            switch bytes[position] {
            case UInt8(ascii: ","): position = bytes.skippingSpace(from: position + 1)
            case UInt8(ascii: "]"): return position + 1
            default: throw .syntax(at: position, "expected “,” or “]” in an array")
            }
            index += 1
        }
    }

    private func literal(_ bytes: JSONBytes, _ start: Int, _ word: StaticString) throws(Failure) -> Int {
        for index in 0..<word.utf8CodeUnitCount {
            guard start + index < bytes.count else { throw .incomplete }
            guard bytes[start + index] == word.utf8Start[index] else {
                throw .syntax(at: start + index, "no JSON value is written like this")
            }
        }
        return start + word.utf8CodeUnitCount
    }

    private func number(_ bytes: JSONBytes, _ start: Int) throws(Failure) -> Int {
        var position = start
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let first = position
        position = try digits(bytes, position)
        guard position == first + 1 || bytes[first] != UInt8(ascii: "0") else {
            throw .syntax(at: first, "a number starts with 0")
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") { position = try digits(bytes, position + 1) }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            position = try digits(bytes, position)
        }
        return position
    }

    /// At least one digit.
    @inline(__always)
    private func digits(_ bytes: JSONBytes, _ start: Int) throws(Failure) -> Int {
        var position = start
        while position < bytes.count, bytes[position].isASCIIDigit { position += 1 }
        guard position > start else {
            guard start < bytes.count else { throw .incomplete }
            throw .syntax(at: start, "a digit is missing in a number")
        }
        return position
    }

    private mutating func report(duplicate name: [UInt8], _ node: Int) {
        duplicateName = duplicateName ?? name
        if tree.hasChildren(node), name.withUnsafeBufferPointer({ tree.child(of: node, named: $0) }) >= 0 {
            isAmbiguous = true
        }
    }
}

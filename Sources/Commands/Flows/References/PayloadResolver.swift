/// Puts the values of references into a payload.
struct PayloadResolver<SourceError: Error> {
    private let read: (PayloadReference.Source) throws(SourceError) -> JSONValue?
    /// The names that patterns can match, in order.
    private var nodes: OrderedNames
    private let maxBytes: Int
    private var size: JSONSize
    /// The results so far, so that each is read once; nil inside for a missing one.
    private var results: [PayloadReference.Source: JSONValue?] = [:]

    init(
        nodes: [String], maxBytes: Int,
        _ read: @escaping (PayloadReference.Source) throws(SourceError) -> JSONValue?
    ) {
        self.nodes = OrderedNames(nodes)
        self.maxBytes = maxBytes
        self.read = read
        size = JSONSize(maxBytes: maxBytes)
    }

    typealias Failure = PayloadResolutionError<SourceError>

    /// - Parameter location: the position in the payload, for errors.
    /// - Parameter depth: the arrays and objects around the part, at most 64.
    mutating func value(of part: PayloadPart, depth: Int = 0) throws(Failure) -> JSONValue {
        switch part {
        case .literal(let value):
            try count("") { (size: inout JSONSize) throws(JSONSize.Excess) in try size.add(value, depth: depth) }
            return value
        case .array(let parts):
            try open(parts.count, depth: depth, at: "")
            var elements: [JSONValue] = []
            elements.reserveCapacity(parts.count)
            for part in parts { elements.append(try value(of: part, depth: depth + 1)) }
            return .array(elements)
        case .object(let members):
            try open(members.count, depth: depth, at: "")
            var values: [JSONValue.Member] = []
            values.reserveCapacity(members.count)
            for member in members {
                try count("") { (size: inout JSONSize) throws(JSONSize.Excess) in try size.add(name: member.name) }
                values.append(.init(member.name, try value(of: member.part, depth: depth + 1)))
            }
            return .object(values)
        case .value(let reference):
            let value = try value(of: reference)
            try count(reference.location) { (size: inout JSONSize) throws(JSONSize.Excess) in
                try size.add(value, depth: depth)
            }
            return value
        case .list(let references): return try list(references, depth: depth)
        case .text(let parts): return try text(parts)
        }
    }

    private mutating func list(_ references: [PayloadReference], depth: Int) throws(Failure) -> JSONValue {
        var values: [JSONValue] = []
        try open(references.count, depth: depth, at: references.first?.location ?? "")
        for reference in references {
            for single in try singles(of: reference) {
                let value = try value(of: single)
                try count(reference.location) { (size: inout JSONSize) throws(JSONSize.Excess) in
                    // A pattern has more elements than references, each with a comma.
                    if !values.isEmpty, references.count == 1 { try size.add(bytes: 1) }
                    try size.add(value, depth: depth + 1)
                }
                values.append(value)
            }
        }
        return .array(values)
    }

    /// A reference for each node that a pattern matches; any other reference alone.
    private mutating func singles(of reference: PayloadReference) throws(Failure) -> [PayloadReference] {
        guard case .pattern(let prefix) = reference.source else { return [reference] }
        let names = nodes.names(startingWith: prefix)
        guard !names.isEmpty else {
            throw failure(reference, "no node has a name that starts with “\(prefix)”, to which the payload refers")
        }
        return names.map { name in
            var single = reference
            single.source = .node(name)
            return single
        }
    }

    private mutating func text(_ parts: [PayloadPart]) throws(Failure) -> JSONValue {
        var text = ""
        var location = ""
        for part in parts {
            if case .value(let reference) = part {
                location = reference.location
                let value = try value(of: reference)
                guard let scalar = value.scalarText else {
                    let pointer = reference.pointer.isRoot ? "" : " at \(reference.pointer)"
                    throw failure(
                        reference,
                        "\(Self.subject(reference))\(pointer) is \(value.kind), and “$text” joins only strings, numbers "
                            + "and booleans")
                }
                text += scalar
            } else if let scalar = part.literal?.scalarText {
                text += scalar
            }
            guard text.utf8.count <= maxBytes else { throw tooLarge(at: location) }
        }
        let value = JSONValue.string(text)
        try count(location) { (size: inout JSONSize) throws(JSONSize.Excess) in try size.add(value, depth: 0) }
        return value
    }

    private mutating func value(of reference: PayloadReference) throws(Failure) -> JSONValue {
        let result: JSONValue?
        if let known = results[reference.source] {
            result = known
        } else {
            do { result = try read(reference.source) } catch { throw .source(error) }
            results.updateValue(result, forKey: reference.source)
        }
        if let result, let value = reference.pointer.value(in: result) { return value }
        if let value = reference.defaultValue { return value }
        let subject = Self.subject(reference)
        if case .flow = reference.source { throw failure(reference, "\(subject) is not known") }
        guard result != nil else {
            throw failure(
                reference, "\(subject) is missing, and the payload refers to it; give the reference a “default”")
        }
        throw failure(
            reference,
            "\(subject) has no \(reference.pointer), which the payload refers to; correct it, or give the reference a "
                + "“default”")
    }

    private static func subject(_ reference: PayloadReference) -> String {
        if case .flow(let field) = reference.source { return "“\(field.rawValue)” of the flow" }
        return "the result of “\(reference.source)”"
    }

    private func failure(_ reference: PayloadReference, _ problem: String) -> Failure {
        .payload(PayloadReferenceError(location: reference.location, problem: problem))
    }

    private func tooLarge(at location: String) -> Failure {
        .payload(
            PayloadReferenceError(
                location: location,
                problem:
                    "the payload has more than \(maxBytes) bytes with the results that it refers to; pass a path or "
                    + "a URL instead of the data"))
    }

    private mutating func open(_ count: Int, depth: Int, at location: String) throws(Failure) {
        try self.count(location) { (size: inout JSONSize) throws(JSONSize.Excess) in
            try size.open(count: count, depth: depth)
        }
    }

    private mutating func count(
        _ location: String, _ add: (inout JSONSize) throws(JSONSize.Excess) -> Void
    ) throws(Failure) {
        do {
            try add(&size)
        } catch {
            switch error {
            case .bytes: throw tooLarge(at: location)
            case .depth:
                throw .payload(
                    PayloadReferenceError(
                        location: location,
                        problem:
                            "the payload is nested deeper than \(JSONSize.maxDepth) with the results that it refers "
                            + "to; refer to a part of the result"))
            }
        }
    }
}

/// Names in a given order, which are found by their start. A search costs O(log n), and the first one a sort.
struct OrderedNames {
    private let names: [String]
    /// The positions in `names`, sorted by name; nil before the first search.
    private var sorted: [Int]?

    init(_ names: [String]) { self.names = names }

    /// The names that start with `prefix`, in their order.
    mutating func names(startingWith prefix: String) -> [String] {
        let positions = sorted ?? names.indices.sorted { names[$0].utf8.lexicographicallyPrecedes(names[$1].utf8) }
        sorted = positions
        var (low, high) = (0, positions.count)
        while low < high {
            let middle = low + (high - low) / 2
            if names[positions[middle]].utf8.lexicographicallyPrecedes(prefix.utf8) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        let found = positions[low...].prefix { names[$0].beginsWithBytes(of: prefix) }
        return found.sorted().map { names[$0] }
    }
}

/// Counts the bytes of compact JSON without writing it, up to a limit.
struct JSONSize {
    /// A limit that a value exceeds.
    enum Excess: Error { case bytes, depth }

    /// The arrays and objects that may lie within each other: the limit of the parser.
    static let maxDepth = 64

    /// The bytes that remain up to the limit.
    private(set) var rest: Int

    init(maxBytes: Int) { rest = maxBytes }

    mutating func add(bytes: Int) throws(Excess) {
        guard bytes <= rest else { throw .bytes }
        rest -= bytes
    }

    /// - Parameter depth: the arrays and objects around the value.
    mutating func add(_ value: JSONValue, depth: Int) throws(Excess) {
        switch value {
        case .null: try add(bytes: 4)
        case .bool(let isTrue): try add(bytes: isTrue ? 4 : 5)
        case .integer(let integer): try add(bytes: "\(integer)".utf8.count)
        case .number(let number): try add(bytes: number.isFinite ? "\(number)".utf8.count : 4)
        case .decimal(let text): try add(bytes: text.utf8.count)
        case .string(let text): try add(string: text)
        case .array(let elements):
            try open(count: elements.count, depth: depth)
            for element in elements { try add(element, depth: depth + 1) }
        case .object(let members):
            try open(count: members.count, depth: depth)
            for member in members {
                try add(name: member.name)
                try add(member.value, depth: depth + 1)
            }
        }
    }

    /// Counts the brackets and commas of an array or object.
    mutating func open(count: Int, depth: Int) throws(Excess) {
        guard depth < Self.maxDepth else { throw .depth }
        try add(bytes: 2 + max(count - 1, 0))
    }

    /// Counts the name of a member and its colon.
    mutating func add(name: String) throws(Excess) {
        try add(string: name)
        try add(bytes: 1)
    }

    private mutating func add(string: String) throws(Excess) {
        var count = 2
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x0A, 0x0D, 0x09: count += 2
            case 0..<0x20: count += 6
            default: count += 1
            }
        }
        try add(bytes: count)
    }
}

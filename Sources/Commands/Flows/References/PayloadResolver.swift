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

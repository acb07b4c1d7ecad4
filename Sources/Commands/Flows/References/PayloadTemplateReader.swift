/// Finds the references of a payload.
struct PayloadTemplateReader {
    /// In the order of the payload.
    private(set) var references: [PayloadReference] = []
    /// Whether one of the special objects was found, `$literal` included.
    private(set) var foundTemplate = false
    private var path: [Step] = []

    private enum Step {
        case name(String)
        case index(Int)
    }

    /// Whether `value` has an object with one of the special names, which most payloads have not.
    static func mayHaveTemplate(_ value: JSONValue, depth: Int = 0) -> Bool {
        guard depth <= JSONSize.maxDepth else { return true }
        return switch value {
        case .null, .bool, .integer, .number, .decimal, .string: false
        case .array(let elements): elements.contains { mayHaveTemplate($0, depth: depth + 1) }
        case .object(let members):
            members.contains {
                $0.name.utf8.first == UInt8(ascii: "$") || mayHaveTemplate($0.value, depth: depth + 1)
            }
        }
    }

    mutating func part(of value: JSONValue) throws(PayloadReferenceError) -> PayloadPart {
        switch value {
        case .null, .bool, .integer, .number, .decimal, .string: return .literal(value)
        case .array(let elements):
            try requireDepth()
            var parts: [PayloadPart] = []
            parts.reserveCapacity(elements.count)
            for (index, element) in elements.enumerated() { parts.append(try part(of: element, at: .index(index))) }
            let literals = parts.compactMap(\.literal)
            return literals.count == parts.count ? .literal(.array(literals)) : .array(parts)
        case .object(let members):
            if let special = try special(members) { return special }
            try requireDepth()
            var parts: [PayloadPart.Member] = []
            parts.reserveCapacity(members.count)
            for member in members {
                parts.append(.init(name: member.name, part: try part(of: member.value, at: .name(member.name))))
            }
            let literals = parts.compactMap { member in member.part.literal.map { JSONValue.Member(member.name, $0) } }
            return literals.count == parts.count ? .literal(.object(literals)) : .object(parts)
        }
    }

    private mutating func part(of value: JSONValue, at step: Step) throws(PayloadReferenceError) -> PayloadPart {
        path.append(step)
        defer { path.removeLast() }
        return try part(of: value)
    }

    /// The part for an object with exactly the members of a template; nil for any other object.
    private mutating func special(_ members: [JSONValue.Member]) throws(PayloadReferenceError) -> PayloadPart? {
        var defaultValue: JSONValue?
        var main = members.first
        if members.count == 2, let index = members.firstIndex(where: { $0.name == "default" }) {
            defaultValue = members[index].value
            main = members[1 - index]
            guard main?.name == "$result" || main?.name == "$results" else { return nil }
        } else if members.count != 1 {
            return nil
        }
        guard let main else { return nil }
        let part: PayloadPart
        switch main.name {
        case "$result": part = .value(try result(main.value, defaultValue))
        case "$results": part = .list(try results(main.value, defaultValue))
        case "$flow": part = .value(try flow(main.value))
        case "$text": part = try text(main.value)
        case "$literal": part = .literal(main.value)
        default: return nil
        }
        foundTemplate = true
        return part
    }

    private mutating func reference(
        _ source: PayloadReference.Source, _ pointer: JSONPointer = .root, default value: JSONValue? = nil
    ) -> PayloadReference {
        let reference = PayloadReference(
            source: source, pointer: pointer, defaultValue: value, location: Self.text(of: path))
        references.append(reference)
        return reference
    }

    private mutating func result(
        _ value: JSONValue, _ defaultValue: JSONValue?
    ) throws(PayloadReferenceError) -> PayloadReference {
        guard let text = value.string else {
            throw error("“$result” must be a string, not \(value.kind)\(Self.escape)")
        }
        let name = String(decoding: text.utf8.prefix { $0 != .slash }, as: UTF8.self)
        guard let source = PayloadReference.Source(name: name) else {
            throw error(
                "“$result” is “\(text.excerpt)” and must start with the name of a node; write a part of its result as "
                    + "“download/path”")
        }
        do {
            let pointer = try JSONPointer(String(decoding: text.utf8.dropFirst(name.utf8.count), as: UTF8.self))
            return reference(source, pointer, default: defaultValue)
        } catch {
            throw self.error("“$result” is “\(text.excerpt)”: \(error)")
        }
    }

    private mutating func results(
        _ value: JSONValue, _ defaultValue: JSONValue?
    ) throws(PayloadReferenceError) -> [PayloadReference] {
        switch value {
        case .string(let text):
            guard let source = PayloadReference.Source(pattern: text) else {
                throw error(
                    "“$results” is “\(text.excerpt)” and must be a list of names, or the start of names with “*” at "
                        + "its end")
            }
            return [reference(source, default: defaultValue)]
        case .array(let elements):
            var list: [PayloadReference] = []
            list.reserveCapacity(elements.count)
            for element in elements {
                guard let name = element.string else {
                    throw error("“$results” lists \(element.kind); each element must be the name of a node")
                }
                guard let source = PayloadReference.Source(name: name) else {
                    throw error("“$results” lists “\(name.excerpt)”, which is not the name of a node")
                }
                list.append(reference(source, default: defaultValue))
            }
            return list
        case .null, .bool, .integer, .number, .decimal, .object:
            throw error("“$results” must be a list of names or a string, not \(value.kind)\(Self.escape)")
        }
    }

    private mutating func flow(_ value: JSONValue) throws(PayloadReferenceError) -> PayloadReference {
        let known = FlowField.allCases.map { "“\($0.rawValue)”" }.joined(separator: ", ")
        guard let word = value.string else {
            throw error("“$flow” must be one of \(known), not \(value.kind)\(Self.escape)")
        }
        guard let field = FlowField(rawValue: word) else {
            throw error("“$flow” is “\(word.excerpt)” and must be one of \(known)")
        }
        return reference(.flow(field))
    }

    private mutating func text(_ value: JSONValue) throws(PayloadReferenceError) -> PayloadPart {
        guard let elements = value.elements else {
            throw error("“$text” must be a list of texts and references, not \(value.kind)\(Self.escape)")
        }
        var parts: [PayloadPart] = []
        for (index, element) in elements.enumerated() {
            if element.scalarText != nil {
                parts.append(.literal(element))
                continue
            }
            path.append(.index(index))
            defer { path.removeLast() }
            if let members = element.members, members.contains(where: { $0.name == "$result" || $0.name == "$flow" }),
                let part = try special(members)
            {
                parts.append(part)
                continue
            }
            throw error("“$text” joins strings, numbers, booleans, “$result” and “$flow”, not \(element.kind)")
        }
        let texts = parts.compactMap { $0.literal?.scalarText }
        return texts.count == parts.count ? .literal(.string(texts.joined())) : .text(parts)
    }

    private static let escape = "; write {\"$literal\": …} around an object that is not a reference"

    private func requireDepth() throws(PayloadReferenceError) {
        guard path.count < JSONSize.maxDepth else { throw error("nested deeper than \(JSONSize.maxDepth)") }
    }

    private func error(_ problem: String) -> PayloadReferenceError {
        PayloadReferenceError(location: Self.text(of: path), problem: problem)
    }

    /// Bytes of the longest location. Each reference has one, so that a long one would multiply a payload.
    private static let maxLocationBytes = 512

    /// The path as RFC 6901 writes it, up to the maximum.
    private static func text(of path: [Step]) -> String {
        var bytes: [UInt8] = []
        for step in path where bytes.count < maxLocationBytes {
            bytes.append(.slash)
            switch step {
            case .index(let index): bytes.append(contentsOf: "\(index)".utf8)
            case .name(let name):
                for byte in name.utf8.prefix(maxLocationBytes) {
                    switch byte {
                    case UInt8(ascii: "~"): bytes.append(contentsOf: "~0".utf8)
                    case .slash: bytes.append(contentsOf: "~1".utf8)
                    default: bytes.append(byte)
                    }
                }
            }
        }
        return String(decoding: bytes.prefix(maxLocationBytes), as: UTF8.self)
    }
}

extension JSONValue {
    /// The text that `$text` takes: a string as it is, a finite number or boolean as JSON; nil for any other kind.
    var scalarText: String? {
        switch self {
        case .string(let text): text
        case .integer, .decimal, .bool: text
        case .number(let number): number.isFinite ? text : nil
        case .null, .array, .object: nil
        }
    }
}

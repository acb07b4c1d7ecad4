/// A payload with references to the results of other commands, found once and resolved at each attempt.
///
/// `{"$result": "download/path"}` is a part of a result: the name of a node or a UUID, and a JSON Pointer.
/// `{"$results": ["a", "b"]}` and `{"$results": "page-*"}` are arrays of results. Both may have a `default`.
/// `{"$text": ["https://h/", {"$result": "new/id"}]}` joins scalars, `{"$flow": "status"}` is a fact about the flow,
/// and `{"$literal": …}` is its value as it stands. Only objects with exactly these members count.
package struct PayloadTemplate: Sendable, Equatable {
    private let part: PayloadPart
    /// Whether the payload has neither references nor `$text` or `$literal`, so that it resolves to itself.
    package let isPlain: Bool
    /// In the order of the payload.
    package let references: [PayloadReference]
    /// The nodes, commands and patterns that it refers to, each once, in the order of their first use. Facts about the
    /// flow are not among them.
    package let parents: [PayloadReference.Source]

    /// - Throws: ``PayloadReferenceError`` for a malformed reference, and for a payload nested deeper than 64.
    package init(_ payload: JSONValue) throws(PayloadReferenceError) {
        guard PayloadTemplateReader.mayHaveTemplate(payload) else {
            part = .literal(payload)
            isPlain = true
            references = []
            parents = []
            return
        }
        var reader = PayloadTemplateReader()
        part = try reader.part(of: payload)
        isPlain = !reader.foundTemplate
        references = reader.references
        var seen: Set<PayloadReference.Source> = []
        parents = reader.references.map(\.source).filter {
            if case .flow = $0 { false } else { seen.insert($0).inserted }
        }
    }

    /// Whether a value of the payload depends on a result or on a fact about the flow.
    package var hasReferences: Bool { !references.isEmpty }

    /// Whether it refers to a fact about the flow, which only callbacks can.
    package var usesFlow: Bool {
        references.contains { if case .flow = $0.source { true } else { false } }
    }

    /// The payload with `null` in place of each value that depends on a reference.
    package var withHoles: JSONValue { part.withHoles }

    /// The value at a position of the payload, where the whole of it is known without resolving. Nil where there is
    /// none, and where it depends on a reference.
    package func literal(at pointer: JSONPointer) -> JSONValue? {
        if case .literal(let value) = find(pointer) { value } else { nil }
    }

    /// Whether the value at a position of the payload, or a part of it, depends on a reference.
    package func dependsOnReference(at pointer: JSONPointer) -> Bool {
        find(pointer).map { $0.literal == nil } ?? false
    }

    /// The payload with the values of its references. They are inserted as they are: an object in a result that looks
    /// like a reference stays data.
    /// - Parameters:
    ///   - nodes: the names that patterns can match, in the order of the flow's nodes; the parents of the command are
    ///     enough. The default is none.
    ///   - maxBytes: the size of the resolved payload as compact JSON. The default is 1 MiB. A payload that
    ///     ``isPlain`` is not measured.
    ///   - result: reads the result of a node or command, or a fact about the flow; nil where there is none. It is
    ///     called once for each source, and never for a pattern.
    /// - Throws: `payload` for a reference that leads to nothing and has no default, and for a payload that is too
    ///   large or nested deeper than 64; `source` for an error of `result`.
    package func resolved<SourceError: Error>(
        nodes: [String] = [], maxBytes: Int = 1 << 20,
        _ result: (PayloadReference.Source) throws(SourceError) -> JSONValue?
    ) throws(PayloadResolutionError<SourceError>) -> JSONValue {
        if isPlain, let value = part.literal { return value }
        return try withoutActuallyEscaping(result) {
            (result) throws(PayloadResolutionError<SourceError>) -> JSONValue in
            var resolver = PayloadResolver(nodes: nodes, maxBytes: maxBytes, result)
            return try resolver.value(of: part)
        }
    }

    /// The part at a position; a literal one also for a position inside a literal.
    private func find(_ pointer: JSONPointer) -> PayloadPart? {
        var part = part
        for token in pointer.tokens {
            switch part {
            case .literal: return pointer.value(in: withHoles).map { .literal($0) }
            case .array(let parts):
                guard let index = JSONPointer.index(token), index < parts.count else { return nil }
                part = parts[index]
            case .object(let members):
                guard let member = members.first(where: { $0.name.utf8.elementsEqual(token) }) else { return nil }
                part = member.part
            case .value, .list, .text: return part
            }
        }
        return part
    }
}

/// A part of a payload: a literal, or a stand-in for the value of a reference.
indirect enum PayloadPart: Sendable, Equatable {
    /// A value without references.
    case literal(JSONValue)
    /// An array with references in its elements.
    case array([PayloadPart])
    /// An object with references in its members.
    case object([Member])
    /// `$result` and `$flow`: one value.
    case value(PayloadReference)
    /// `$results`: an array with the values in this order.
    case list([PayloadReference])
    /// `$text`: scalars, joined to a string.
    case text([PayloadPart])

    struct Member: Sendable, Equatable {
        var name: String
        var part: PayloadPart
    }

    /// The value of a literal; nil where the part depends on a reference.
    var literal: JSONValue? { if case .literal(let value) = self { value } else { nil } }

    /// The payload with `null` in place of each value that depends on a reference.
    var withHoles: JSONValue {
        switch self {
        case .literal(let value): value
        case .array(let parts): .array(parts.map(\.withHoles))
        case .object(let members): .object(members.map { JSONValue.Member($0.name, $0.part.withHoles) })
        case .value, .list, .text: .null
        }
    }
}

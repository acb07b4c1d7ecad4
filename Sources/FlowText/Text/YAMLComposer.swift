internal import Commands

/// Builds a value from the steps of a YAML text. It does not recurse, so no text exhausts the stack.
struct YAMLComposer {
    /// Sequences and mappings that may lie within each other: the limit of JSON.
    static let maxDepth = 64
    /// Values that aliases may repeat in all.
    static let maxRepeated = 100_000

    /// A sequence or mapping that is not complete.
    private struct Frame {
        var isMapping: Bool
        var members: [JSONValue.Member] = []
        var elements: [JSONValue] = []
        var names = UniqueNames()
        /// The name whose value comes next.
        var name: (text: String, position: SourcePosition)?
        /// The entry in the source map.
        var entry: Int
        var anchor: String?
        /// The sequences and mappings within each other, with itself.
        var height = 1
    }

    private struct Anchored {
        var value: JSONValue
        /// Entries of the source map; empty for a name.
        var entries: Range<Int>
        var height: Int
    }

    private var frames: [Frame] = []
    private var anchors: [String: Anchored] = [:]
    private var repeated = 0
    private var map = SourceMap()
    private var root: JSONValue?
    private var foundDocument = false
    private let keepsTexts: Bool

    private init(keepsTexts: Bool) { self.keepsTexts = keepsTexts }

    /// - Parameter keepsTexts: whether ``LocatedValue/text`` is the text of the document. It takes some 60 bytes for each
    ///   scalar whose JSON value has another form.
    /// - Returns: nil for a text without a document.
    static func compose(
        _ text: UnsafeBufferPointer<UInt8>, keepsTexts: Bool = false
    ) throws(SourceError) -> LocatedValue? {
        let reader = try YAMLEventReader(text)
        var composer = YAMLComposer(keepsTexts: keepsTexts)
        while true {
            let event = try reader.next()
            if case .streamEnd = event.kind { break }
            try composer.add(event)
        }
        return composer.root.map { LocatedValue($0, in: composer.map) }
    }

    private mutating func add(_ event: YAMLEvent) throws(SourceError) {
        switch event.kind {
        case .documentStart:
            guard !foundDocument else {
                throw SourceError(
                    position: event.position, problem: "the text has several documents; write each into its own file")
            }
            foundDocument = true
        case .scalar(let text, let isPlain):
            if awaitsName { return try addName(text, isPlain: isPlain, event) }
            let value = try Self.value(of: text, isPlain: isPlain, event)
            let entry = map.open(event.position, name: frames.last?.name?.position)
            // “~” stands for no text.
            if keepsTexts, value != .null || text != "~" { map.keep(text, of: value, at: entry) }
            finish(value, entry: entry, height: 0, anchor: event.anchor)
        case .sequence: try open(isMapping: false, "seq", event)
        case .mapping: try open(isMapping: true, "map", event)
        case .end: close()
        case .alias(let name): try addAlias(name, event)
        case .streamEnd, .documentEnd, .other: break
        }
    }

    /// Whether the next value is the name of a member.
    private var awaitsName: Bool { frames.last.map { $0.isMapping && $0.name == nil } ?? false }

    private mutating func addName(_ name: String, isPlain: Bool, _ event: YAMLEvent) throws(SourceError) {
        if isPlain, name == "<<" {
            throw SourceError(
                position: event.position,
                problem: "“<<” is not in YAML 1.2 and is not supported; write the members out, or the key in quotes")
        }
        if event.tag != nil { _ = try Self.value(of: name, isPlain: isPlain, event) }
        let last = frames.count - 1
        guard frames[last].names.insert(name, among: frames[last].members) else {
            throw SourceError(
                position: event.position, problem: "the key “\(name.excerpt)” occurs twice in one mapping")
        }
        frames[last].name = (name, event.position)
        if let anchor = event.anchor { anchors[anchor] = Anchored(value: .string(name), entries: 0..<0, height: 0) }
    }

    private mutating func open(isMapping: Bool, _ type: String, _ event: YAMLEvent) throws(SourceError) {
        guard !awaitsName else { throw Self.notAName(event) }
        guard event.tag == nil || event.tag == "!" || event.tag == YAMLCoreSchema.tagPrefix + type else {
            throw Self.unknownTag(event)
        }
        try requireDepth(1, event)
        let entry = map.open(event.position, name: frames.last?.name?.position)
        frames.append(Frame(isMapping: isMapping, entry: entry, anchor: event.anchor))
    }

    private mutating func close() {
        guard let frame = frames.popLast() else { return }
        map.close(frame.entry)
        finish(
            frame.isMapping ? .object(frame.members) : .array(frame.elements), entry: frame.entry,
            height: frame.height, anchor: frame.anchor)
    }

    private mutating func addAlias(_ name: String, _ event: YAMLEvent) throws(SourceError) {
        guard !awaitsName else { throw Self.notAName(event) }
        guard !frames.contains(where: { $0.anchor == name }) else {
            throw SourceError(
                position: event.position, problem: "the alias “*\(name.excerpt)” stands inside of its own anchor")
        }
        guard let anchored = anchors[name] else {
            throw SourceError(
                position: event.position, problem: "there is no anchor “&\(name.excerpt)” before this alias")
        }
        repeated += max(anchored.entries.count, 1)
        guard repeated <= Self.maxRepeated else {
            throw SourceError(
                position: event.position,
                problem: "the aliases repeat more than \(Self.maxRepeated) values; use fewer of them")
        }
        try requireDepth(anchored.height, event)
        let entry = map.entries.count
        let namePosition = frames.last?.name?.position
        if anchored.entries.isEmpty {
            _ = map.open(event.position, name: namePosition)
        } else {
            map.repeatEntries(anchored.entries, at: event.position, name: namePosition)
        }
        finish(anchored.value, entry: entry, height: anchored.height, anchor: nil)
    }

    /// Adds a complete value to the sequence or mapping around it.
    private mutating func finish(_ value: JSONValue, entry: Int, height: Int, anchor: String?) {
        if let anchor { anchors[anchor] = Anchored(value: value, entries: entry..<map.entries.count, height: height) }
        guard !frames.isEmpty else {
            root = value
            return
        }
        let last = frames.count - 1
        frames[last].height = max(frames[last].height, height + 1)
        if let name = frames[last].name {
            frames[last].members.append(JSONValue.Member(name.text, value))
            frames[last].name = nil
        } else {
            frames[last].elements.append(value)
        }
    }

    private func requireDepth(_ height: Int, _ event: YAMLEvent) throws(SourceError) {
        guard frames.count + height <= Self.maxDepth else { throw YAMLEventReader.tooDeep(event.position) }
    }
}

extension YAMLComposer {
    private static func value(of text: String, isPlain: Bool, _ event: YAMLEvent) throws(SourceError) -> JSONValue {
        guard let tag = event.tag else {
            guard isPlain else { return .string(text) }
            if let value = YAMLCoreSchema.value(of: text) { return value }
            throw SourceError(
                position: event.position,
                problem: "JSON has no number for “\(text.excerpt)”; write it in quotes to have the text")
        }
        let type = String(tag.dropFirst(YAMLCoreSchema.tagPrefix.count))
        guard tag.hasPrefix(YAMLCoreSchema.tagPrefix), YAMLCoreSchema.isScalarType(type) else {
            throw unknownTag(event)
        }
        guard let value = YAMLCoreSchema.value(of: text, type: type) else {
            throw SourceError(
                position: event.position, problem: "“\(text.excerpt)” does not have the type “!!\(type)” of its tag")
        }
        return value
    }

    private static func unknownTag(_ event: YAMLEvent) -> SourceError {
        var tag = event.tag ?? ""
        if tag.hasPrefix(YAMLCoreSchema.tagPrefix) { tag = "!!" + tag.dropFirst(YAMLCoreSchema.tagPrefix.count) }
        return SourceError(
            position: event.position,
            problem: "the tag “\(tag.excerpt)” is not supported here; write the value without it")
    }

    private static func notAName(_ event: YAMLEvent) -> SourceError {
        SourceError(
            position: event.position,
            problem: "a key must be a text, not a list, a mapping or an alias; write texts with braces or “*” in quotes"
        )
    }
}

/// Finds a name that occurs twice in one mapping.
struct UniqueNames {
    /// The number of names up to which a linear search is faster than a set.
    private static let maxLinear = 16

    private var names: Set<String> = []
    /// Used once two different names were equal as strings, because strings that differ only in their Unicode form are.
    /// Hashing bytes takes three times as long.
    private var bytes: Set<[UInt8]> = []

    /// - Parameter members: those with the names so far.
    /// - Returns: false for a name that is there already.
    mutating func insert(_ name: String, among members: [JSONValue.Member]) -> Bool {
        if members.count < Self.maxLinear {
            return !members.contains { $0.name == name && $0.name.hasSameBytes(as: name) }
        }
        if bytes.isEmpty {
            if names.isEmpty { names = Set(members.map(\.name)) }
            // A set of strings with fewer names than there are members has found such names before.
            if names.count == members.count, names.insert(name).inserted { return true }
            bytes = Set(members.map { Array($0.name.utf8) })
        }
        return bytes.insert(Array(name.utf8)).inserted
    }
}

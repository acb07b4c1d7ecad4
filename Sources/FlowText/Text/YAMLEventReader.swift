// The C module of the package Yams. `Yams.Parser` builds a tree of classes and hashes all keys: 1.8 s for a flow of
// 100,000 nodes, of which these events take 0.3 s. It also follows aliases inside of keys while it hashes, which takes
// exponential time for a text that is made so.
internal import CYaml

/// Reads a YAML text step by step with libyaml.
struct YAMLEventReader: ~Copyable {
    /// Allocated, because libyaml keeps a pointer to it.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeBufferPointer<UInt8>

    /// - Parameter text: UTF-8, which must outlive the reader; not empty.
    init(_ text: UnsafeBufferPointer<UInt8>) throws(SourceError) {
        self.text = text
        parser = .allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
        guard yaml_parser_initialize(parser) == 1 else {
            throw SourceError(position: nil, problem: "not enough memory to read YAML")
        }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    /// The next step. Not called again after the end of the stream and after an error.
    func next() throws(SourceError) -> YAMLEvent {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw error() }
        defer { yaml_event_delete(&event) }
        var result = YAMLEvent(kind: .other, position: Self.position(event.start_mark))
        switch event.type {
        case YAML_STREAM_END_EVENT: result.kind = .streamEnd
        case YAML_DOCUMENT_START_EVENT: result.kind = .documentStart
        case YAML_DOCUMENT_END_EVENT: result.kind = .documentEnd
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: result.kind = .end
        case YAML_ALIAS_EVENT: result.kind = .alias(Self.string(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            result.kind = .scalar(String(decoding: bytes, as: UTF8.self), isPlain: scalar.plain_implicit != 0)
            result.anchor = Self.string(scalar.anchor)
            result.tag = Self.string(scalar.tag)
        case YAML_SEQUENCE_START_EVENT:
            result.kind = .sequence
            result.anchor = Self.string(event.data.sequence_start.anchor)
            result.tag = Self.string(event.data.sequence_start.tag)
        case YAML_MAPPING_START_EVENT:
            result.kind = .mapping
            result.anchor = Self.string(event.data.mapping_start.anchor)
            result.tag = Self.string(event.data.mapping_start.tag)
        default: break
        }
        return result
    }

    private static func string(_ text: UnsafePointer<UInt8>?) -> String? { text.map { String(cString: $0) } }

    private static func position(_ mark: yaml_mark_t) -> SourcePosition {
        SourcePosition(line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1)
    }

    private func error() -> SourceError {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "unknown problem"
        if parser.pointee.error == YAML_READER_ERROR {
            let position = SourcePosition(offset: Int(clamping: parser.pointee.problem_offset), in: text)
            return SourceError(position: position, problem: "the text is not valid YAML: \(problem)")
        }
        guard parser.pointee.error == YAML_SCANNER_ERROR || parser.pointee.error == YAML_PARSER_ERROR else {
            return SourceError(position: nil, problem: "not enough memory to read YAML")
        }
        let position = Self.position(parser.pointee.problem_mark)
        // libyaml looks up to 1,024 characters ahead, and has a limit of its own.
        guard parser.pointee.flow_level <= YAMLComposer.maxDepth else { return Self.tooDeep(position) }
        var sentence = "the text is not valid YAML: \(problem)"
        if let context = parser.pointee.context {
            let start = Self.position(parser.pointee.context_mark).line
            sentence += " \(String(cString: context)) that starts in line \(start)"
        }
        if isIndentedByTab(position.line) { sentence += "; indent with spaces, not with tabs" }
        return SourceError(position: position, problem: sentence)
    }

    static func tooDeep(_ position: SourcePosition) -> SourceError {
        SourceError(position: position, problem: "nested deeper than \(YAMLComposer.maxDepth)")
    }

    private func isIndentedByTab(_ line: Int) -> Bool {
        let lines = text.split(separator: 0x0A, maxSplits: line, omittingEmptySubsequences: false)
        guard line <= lines.count else { return false }
        return lines[line - 1].prefix { $0 == 0x20 || $0 == 0x09 }.contains(0x09)
    }
}

/// A step of a YAML text, as its parser reports it.
struct YAMLEvent {
    enum Kind {
        case streamEnd
        case documentStart
        case documentEnd
        /// - Parameter isPlain: whether the scalar stands without quotes and tag, so that its text decides its type.
        case scalar(String, isPlain: Bool)
        case sequence
        case mapping
        /// The end of a sequence or mapping.
        case end
        /// The value of an anchor, by its name.
        case alias(String)
        /// A step without a meaning for the value.
        case other
    }

    var kind: Kind
    /// The name before the value, as in `&name`; nil without one.
    var anchor: String?
    /// The tag before the value in its long form; nil without one.
    var tag: String?
    var position: SourcePosition
}

internal import Commands

/// Reads a flow from JSON lines: the flow, then its nodes, each of which can name earlier ones only.
///
/// The first line is `{"flow": {"name": …, "onFailure": …}}`, each further one
/// `{"node": "a", "type": …, "after": ["b"], "payload": …}`. A line has the keys of a document.
package struct FlowLines {
    /// The content of a line.
    package enum Item: Sendable, Equatable {
        /// The flow, without nodes.
        case flow(FlowDocument)
        case node(FlowDocument.Node)
    }

    private let text: FlowTextReader
    private var reader: FlowNodeReader?
    private var resolver: FlowDependencyResolver
    private var line = 0

    /// - Parameter file: the name for errors; nil for a text without a name.
    package init(file: String?) {
        text = FlowTextReader(file: file)
        resolver = FlowDependencyResolver(text: text)
        resolver.adjective = "earlier "
    }

    /// The nodes so far.
    package var nodeCount: Int { resolver.index.count }

    /// Reads the next line. After an error the reader is not used any more.
    /// - Parameter line: one JSON text in UTF-8, with or without its line break.
    /// - Returns: nil for a line of white space.
    /// - Throws: ``FlowDocumentError`` as ``FlowDocument/init(parsing:file:)``, also for a first line that is not a flow.
    package mutating func read(_ line: [UInt8]) throws(FlowDocumentError) -> Item? {
        self.line += 1
        guard line.contains(where: { !YAMLText.isSpace($0) }) else { return nil }
        let value: LocatedValue
        do {
            value = try YAMLText.parseJSON(line, line: self.line)
        } catch {
            throw text.error(
                error.position ?? SourcePosition(line: self.line, column: 1), error.problem)
        }
        let members = try text.members(of: value, "a line")
        guard let reader else { return .flow(try flow(members)) }
        return .node(try node(members, reader))
    }

    /// Ends the text.
    /// - Throws: ``FlowDocumentError`` for a text without a flow.
    package func finish() throws(FlowDocumentError) {
        guard reader != nil else { throw text.error(nil, Self.form) }
    }

    private static let form = "the first line must be a flow, as in {\"flow\": {\"name\": \"quotes\"}}"

    private mutating func flow(_ members: [LocatedValue.Member]) throws(FlowDocumentError) -> FlowDocument {
        guard let flow = members.first(where: { $0.name == "flow" }) else {
            throw text.error(SourcePosition(line: line, column: 1), Self.form)
        }
        for member in members where member.name != "flow" {
            throw text.error(member.position, "“\(member.name.excerpt)” must stand inside of “flow”")
        }
        let header = try FlowHeaderReader(text: text).header(
            try text.members(of: flow.value, "“flow”", at: flow.position), known: FlowKeys.lineFlow)
        reader = FlowNodeReader(text: text, defaults: header.defaults)
        return header.document
    }

    private mutating func node(
        _ members: [LocatedValue.Member], _ reader: FlowNodeReader
    ) throws(FlowDocumentError) -> FlowDocument.Node {
        if let flow = members.first(where: { $0.name == "flow" }) {
            throw text.error(flow.position, "a second flow; write each flow into its own text")
        }
        guard let member = members.first(where: { $0.name == "node" }) else {
            throw text.error(SourcePosition(line: line, column: 1), "“node” is missing, which has the name of the node")
        }
        let name = try text.string(member)
        try reader.requireName(name, at: member.position)
        let read = try reader.node(
            name, members.filter { $0.name != "node" }, known: FlowKeys.node, at: member.position)
        guard resolver.index.count < FlowDraft.maxNodes else {
            throw text.error(
                member.position, "the flow has more than \(FlowDraft.maxNodes) nodes")
        }
        guard resolver.index.mayFail(name) == nil else {
            throw text.error(member.position, node: name, "another node has this name")
        }
        let node = try resolver.resolve(read)
        _ = resolver.index.insert(name, mayFail: node.mayFail)
        return node
    }
}

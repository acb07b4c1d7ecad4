/// The answer of S3 as names and texts: the children of the root, and the children of its repeated element.
struct XMLRecord: Sendable, Equatable {
    /// The maximum number of repeated elements; S3 lists 1,000 at once.
    static let maxItems = 10_000
    /// The maximum number of names that the root or one repeated element has.
    static let maxFields = 64

    /// The name of the root.
    private(set) var root = ""
    /// The text of each child of the root. Of children of one name the first counts.
    private(set) var fields: [String: String] = [:]
    /// The same for each child of the root that has the name of the repeated element.
    private(set) var items: [[String: String]] = []

    /// Reads a whole document.
    /// - Parameters:
    ///   - bytes: the document. White space before it is allowed, because S3 sends it while it works.
    ///   - item: the name of the repeated element; nil where there is none.
    /// - Throws: ``XMLError``, also for a document that is cut off.
    init(_ bytes: [UInt8], item: String? = nil) throws(XMLError) {
        // White space may come before the declaration, where XML does not allow it.
        var scanner = try XMLScanner(bytes)
        var path: [String] = []
        var text = ""
        var current: [String: String] = [:]
        while let event = try scanner.next() {
            switch event {
            case .start(let name):
                if path.isEmpty { root = name }
                path.append(name)
                text = ""
                if path.count == 2, name == item { current = [:] }
            case .text(let piece): text += piece
            case .end(let name):
                let depth = path.count
                path.removeLast()
                defer { text = "" }
                if depth == 2, name == item {
                    guard items.count < Self.maxItems else {
                        throw XMLError(position: bytes.count, problem: "more than \(Self.maxItems) elements <\(name)>")
                    }
                    items.append(current)
                } else if depth == 2 {
                    Self.add(text, name, to: &fields)
                } else if depth == 3, path[1] == item {
                    Self.add(text, name, to: &current)
                }
            }
        }
    }

    private static func add(_ text: String, _ name: String, to fields: inout [String: String]) {
        guard fields[name] == nil, fields.count < maxFields else { return }
        fields[name] = text
    }

    /// The text of a child of the root without white space around it; nil where it is missing or empty.
    func word(_ name: String) -> String? { Self.word(fields[name]) }

    static func word(_ text: String?) -> String? {
        guard let text else { return nil }
        let isSpace: (Character) -> Bool = { $0.isWhitespace }
        let start = text.drop(while: isSpace)
        guard let last = start.lastIndex(where: { !isSpace($0) }) else { return nil }
        return String(start[...last])
    }
}

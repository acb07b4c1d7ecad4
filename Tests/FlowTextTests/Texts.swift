import Commands
import FlowText

/// Texts of flows, and the sentences with which they are refused.
enum Texts {
    static func yaml(_ text: String) throws -> String { try YAMLText.parse(Array(text.utf8)).value.text }

    /// The sentence with which a text is refused; nil where it is read.
    static func yamlRefusal(_ text: String) -> String? {
        do {
            _ = try YAMLText.parse(Array(text.utf8))
            return nil
        } catch {
            return error.description
        }
    }

    static func document(_ text: String) throws -> FlowDocument {
        try FlowDocument(parsing: Array(text.utf8), file: "quotes.yaml")
    }

    static func refusal(_ text: String) -> String? {
        do {
            _ = try document(text)
            return nil
        } catch {
            return (error as? FlowDocumentError)?.description
        }
    }

    static func lines(_ lines: [String]) throws -> [FlowLines.Item] {
        var reader = FlowLines(file: "flow.jsonl")
        var items: [FlowLines.Item] = []
        for line in lines { if let item = try reader.read(Array(line.utf8)) { items.append(item) } }
        try reader.finish()
        return items
    }

    static func linesRefusal(_ lines: String...) -> String? {
        do {
            _ = try self.lines(lines)
            return nil
        } catch {
            return (error as? FlowDocumentError)?.description
        }
    }
}

internal import GRDB

/// Which records of a collection are read. Conditions are joined by “and”.
package struct CollectionQuery: Sendable {
    /// The text of a key, with or without the prefix `s:` or `n:`; one of them. Empty: all.
    package var keys: [String] = []
    /// The values of columns.
    package var columns: [(name: String, value: String)] = []
    /// Only records that were changed after this revision.
    package var since: Int64?
    /// -1: no limit.
    package var limit = -1

    package init() {}

    func condition(_ collection: String, _ known: [String]) throws -> (sql: String, arguments: StatementArguments) {
        var parts = ["TRUE"]
        var arguments = StatementArguments()
        if !keys.isEmpty {
            let forms = keys.flatMap { [$0, "s:\($0)", "n:\($0)"] }
            parts.append("key IN (\(Self.marks(forms.count)))")
            arguments += StatementArguments(forms)
        }
        for (name, value) in columns {
            guard let column = known.first(where: { $0.lowercased() == name.lowercased() }) else {
                let list = known.isEmpty ? "it has none" : "it has \(known.joined(separator: ", "))"
                throw CollectionError(
                    .invalid,
                    "the collection “\(collection)” has no column “\(name)”; \(list); “sluice sync --column” names them"
                )
            }
            let values = Self.values(value)
            parts.append("\(CollectionColumns.quoted(column)) IN (\(Self.marks(values.count)))")
            arguments += StatementArguments(values)
        }
        if let since {
            parts.append("rev > ?")
            arguments += [since]
        }
        return (parts.joined(separator: " AND "), arguments)
    }

    private static func marks(_ count: Int) -> String { Array(repeating: "?", count: count).joined(separator: ", ") }

    /// A text, and the number or boolean that it may be in the JSON.
    private static func values(_ text: String) -> [DatabaseValue] {
        var values = [text.databaseValue]
        if let number = Int64(text) {
            values.append(number.databaseValue)
        } else if let number = Double(text), number.isFinite {
            values.append(number.databaseValue)
        }
        if text == "true" { values.append(1.databaseValue) }
        if text == "false" { values.append(0.databaseValue) }
        return values
    }
}

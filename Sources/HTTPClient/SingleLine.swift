/// Text of a server in a message: one line without control characters.
package enum SingleLine {
    /// - Parameters:
    ///   - text: the text as it came.
    ///   - limit: the maximum number of characters; `…` replaces the rest.
    package static func text(_ text: String, limit: Int) -> String {
        var line = ""
        for scalar in text.unicodeScalars.prefix(limit * 4) {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: line.unicodeScalars.append(" ")
            default: line.unicodeScalars.append(scalar)
            }
        }
        line = line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        return line.count > limit ? line.prefix(limit) + "…" : line
    }
}

package import Commands

extension Dependency {
    /// Reads an id, or an id and a condition as in `ID:end`.
    /// - Returns: nil for anything else.
    package init?(text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let id = CommandID(String(parts[0])) else { return nil }
        guard parts.count > 1 else {
            self.init(on: id)
            return
        }
        guard let condition = DependencyCondition(name: String(parts[1])) else { return nil }
        self.init(on: id, condition)
    }
}

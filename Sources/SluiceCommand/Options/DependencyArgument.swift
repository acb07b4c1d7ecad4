internal import ArgumentParser
internal import Commands

/// The value of `--after`: an id, and the end that is waited for.
struct DependencyArgument: ExpressibleByArgument {
    let dependency: Dependency

    init?(argument: String) {
        guard let dependency = Dependency(text: argument) else { return nil }
        self.dependency = dependency
    }
}

extension Dependency {
    /// Reads an id, or an id and a condition as in `ID:end`. - Returns: nil for anything else.
    init?(text: String) {
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

internal import ArgumentParser
internal import Door

/// `--scope`: scopes, separated by commas.
struct ScopesArgument: ExpressibleByArgument {
    let scopes: [Scope]

    init?(argument: String) {
        let names = argument.split(separator: ",", omittingEmptySubsequences: false)
        let scopes = names.compactMap { Scope(rawValue: String($0)) }
        guard scopes.count == names.count else { return nil }
        self.scopes = scopes
    }

    static var allValueStrings: [String] { Scope.allCases.map(\.rawValue) }
    static var allValueDescriptions: [String: String] { [:] }
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}

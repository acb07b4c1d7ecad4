import Commands
import Door
import HTTPTypes

/// Tokens of tests: `all` has every scope; any other text is a list of scopes such as `read+control`. A name behind a
/// slash tells tokens apart, as in `upload/other`.
enum TestToken {
    static func principal(_ request: DoorRequest) -> Principal? {
        guard let field = request.fields[.authorization], field.hasPrefix("Bearer ") else { return nil }
        let text = field.dropFirst("Bearer ".count)
        let parts = text.split(separator: "/", maxSplits: 1)
        let scopes =
            text == "all"
            ? Set(Scope.allCases) : Set(parts[0].split(separator: "+").compactMap { Scope(rawValue: String($0)) })
        var principal = Principal(
            token: String(text), name: parts.count > 1 ? String(parts[1]) : "test", scopes: scopes)
        if principal.name == "noops" { principal.types = [CommandType.noop] }
        if principal.name == "hooks" { principal.destinations = [Destination("https://hooks.example.com")!] }
        return principal
    }
}

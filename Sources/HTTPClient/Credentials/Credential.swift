/// What a destination wants to see before it takes anything. Secrets are references: they are read anew for every use, so
/// that they can be rotated, and never stand in payloads, arguments or output.
package enum Credential: Sendable, Equatable {
    /// `Authorization: Bearer …`
    case bearer(Secret)
    /// `Authorization: Basic …`
    case basic(user: String, password: Secret)
    /// A header of the destination's own.
    case header(name: String, value: Secret)

    /// The header that shows it. Reads a file; blocks for as long as that takes.
    package func header() throws(SecretError) -> (name: String, value: String) {
        switch self {
        case .bearer(let secret): return ("Authorization", "Bearer \(try secret.read())")
        case .basic(let user, let secret):
            return ("Authorization", "Basic \(Base64.encode("\(user):\(try secret.read())".utf8))")
        case .header(let name, let secret): return (name, try secret.read())
        }
    }

    /// Where what nobody else may know is.
    var secret: Secret {
        switch self {
        case .bearer(let secret), .basic(_, let secret), .header(_, let secret): secret
        }
    }

    /// The name of the header that it sets.
    package var headerName: String { if case .header(let name, _) = self { name } else { "Authorization" } }
}

/// The credential that a destination demands. Secrets are references: they are read for every use, so that
/// they can be rotated, and they never stand in payloads, arguments or output.
package enum Credential: Sendable, Equatable {
    /// `Authorization: Bearer …`
    case bearer(Secret)
    /// `Authorization: Basic …`
    case basic(user: String, password: Secret)
    /// A header that the destination defines.
    case header(name: String, value: Secret)

    /// The header field that carries the credential. Blocks while it reads a file.
    package func header() throws(SecretError) -> (name: String, value: String) {
        switch self {
        case .bearer(let secret): return ("Authorization", "Bearer \(try secret.read())")
        case .basic(let user, let secret):
            return ("Authorization", "Basic \(Base64.encode("\(user):\(try secret.read())".utf8))")
        case .header(let name, let secret): return (name, try secret.read())
        }
    }

    /// The secret part.
    var secret: Secret {
        switch self {
        case .bearer(let secret), .basic(_, let secret), .header(_, let secret): secret
        }
    }

    /// The name of the header field.
    package var headerName: String { if case .header(let name, _) = self { name } else { "Authorization" } }
}

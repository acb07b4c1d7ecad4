/// Why a text is not an access token.
package enum AccessTokenError: Error, Sendable, Equatable, CustomStringConvertible {
    /// It does not begin as one.
    case otherForm
    /// A part is missing, or a character differs.
    case incomplete

    package var description: String {
        switch self {
        case .otherForm: "this is not a token of Sluice, which begins with “\(AccessToken.prefix)”"
        case .incomplete: "the token is not complete, or a character of it differs; copy all of it"
        }
    }
}

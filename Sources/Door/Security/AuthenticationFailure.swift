internal import Commands
internal import HTTPTypes

/// Why a request is not authenticated. The raw values are labels of a metric.
package enum AuthenticationFailure: String, Error, Sendable, CaseIterable {
    /// It has neither a token nor a session.
    case missing
    /// The header field, or the text of the token, has another form.
    case malformed
    /// The store has no such token.
    case unknown
    case expired
    case revoked
    /// A login code that is not known, was used, or has expired.
    case code
    /// The session was idle too long, has ended, or began before the door.
    case session
}

extension Problem {
    /// The response to a request without a usable token.
    /// - Parameter detail: a sentence or two.
    static func unauthorized(_ failure: AuthenticationFailure, _ detail: String) -> Problem {
        let type =
            switch failure {
            case .missing: "token-missing"
            case .malformed, .unknown: "invalid-token"
            case .expired: "expired-token"
            case .revoked: "revoked-token"
            case .code: "invalid-login-code"
            case .session: "session-ended"
            }
        let isToken = [.malformed, .unknown, .expired, .revoked].contains(failure)
        // RFC 6750, section 3: without credentials no error is stated.
        let challenge = #"Bearer realm="sluice""# + (isToken ? #", error="invalid_token""# : "")
        return Problem(.unauthorized, type, detail, fields: [.wwwAuthenticate: challenge])
    }
}

extension ProblemType {
    /// Problems of tokens, sessions and origins.
    static let access = [
        ProblemType(
            "cross-origin", "A page of another origin sent a change.",
            "Send it from a page of the door, or with a token."),
        ProblemType("expired-token", "The token has expired.", "Make a new one: sluice token create."),
        ProblemType(
            "invalid-login-code", "The login code is unknown, was used, or has expired.", "Ask for a new login link."),
        ProblemType("invalid-token", "There is no such token.", "Check the text of the token."),
        ProblemType(
            "login-forbidden", "The token was made over HTTP, to send uploads, and opens no session.",
            "Log in with another token."),
        ProblemType("revoked-token", "The token was revoked.", "Use another token."),
        ProblemType("scope-missing", "The token lacks a scope.", "Use a token that has one of the named scopes."),
        ProblemType("session-ended", "The session was idle for too long, or has ended.", "Log in again."),
        ProblemType(
            "store-unavailable", "The store of the server is busy.", "Send the request again after Retry-After."),
        ProblemType("token-exists", "The token has made a usable one of that name already.", "Choose another name."),
        ProblemType("token-not-found", "The token has made none of that name.", "See /tokens."),
        ProblemType("token-missing", "The request has no token.", "Send one as “Authorization: Bearer …”."),
        ProblemType(
            "too-many-failures", "Too many requests from this address had no valid token.",
            "Wait for Retry-After, and check the token."),
        ProblemType(
            "too-many-tokens", "The token has made as many usable ones as it may make, or the store has its maximum.",
            "Revoke some, or wait until they expire."),
    ]
}

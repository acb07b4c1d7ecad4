package import Commands
internal import HTTPTypes
internal import Store

/// The token, or the session of a browser, that a request acts for.
package struct Principal: Sendable, Equatable {
    /// The public id of its token, which logs and reasons may show.
    package var token: String
    /// The name that a person gave the token.
    package var name: String
    /// ``TokenRecord/owner``: uploads, keys of requests and shares belong to it.
    package var owner: String
    /// Where another token has made its token: whose share its uploads take.
    package var grant: UploadFacts.Grant?
    package var scopes: Set<Scope>
    /// The names of the routes that its uploads may take; nil: all.
    package var routes: Set<String>?
    /// The types of commands that it may submit; nil: all that the API takes.
    package var types: Set<String>?
    /// The destinations of commands that it may submit; nil: all.
    package var destinations: Set<Destination>?
    /// It came with the cookie of a session, which a browser also sends with the requests of other pages (CSRF).
    package var isSession = false

    package init(token: String, name: String, scopes: Set<Scope>, routes: Set<String>? = nil) {
        self.token = token
        self.name = name
        owner = token
        self.scopes = scopes
        self.routes = routes
    }

    /// Why its token does not permit the submit of a command, in a sentence; nil where it does. Scopes are checked before.
    package func objection(toType type: String, destination: Destination) -> String? {
        if let types, !types.contains(type) {
            return "The token “\(name)” may not submit commands of the type “\(type)”; it may submit "
                + "\(types.sorted().joined(separator: ", "))."
        }
        guard let destinations, !destinations.contains(destination) else { return nil }
        return "The token “\(name)” may not submit commands to \(destination); it may submit to "
            + "\(destinations.map(\.text).sorted().joined(separator: ", "))."
    }

    /// Whether a token of its name, or a grant of such a token, has created the upload.
    package func owns(_ upload: Upload) -> Bool {
        upload.facts.token == owner || grant == nil && upload.facts.grant?.maker == owner
    }

    /// Whether its uploads may take a route.
    package func mayUse(route: String) -> Bool { routes?.contains(route) ?? true }
}

/// A permission of a token.
package enum Scope: String, Sendable, CaseIterable {
    /// Send uploads to its routes, and see and end its own.
    case upload
    /// Submit commands, flows and batches.
    case submit
    /// See commands, links, workers, uploads and events.
    case read
    /// Cancel, retry, pause, and whatever else an operator does.
    case control
    /// Read the metrics.
    case metrics
    /// Make upload tokens that have no more rights than itself (``TokenGrant``). No token has it unless a person says so.
    case grant
}

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

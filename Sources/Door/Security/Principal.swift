package import Commands
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
}

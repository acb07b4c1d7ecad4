internal import Commands
package import Uploads

extension UploadRoutes {
    /// The names that uploads of a principal may take, in the order of the configuration.
    package func names(for principal: Principal?) -> [String] {
        names.filter { principal?.mayUse(route: $0) ?? true }
    }

    /// The route that a request names.
    /// - Parameters:
    ///   - name: nil where the request names none: the upload stays in the spool.
    ///   - principal: nil where the door asks for no token.
    /// - Returns: nil without a name.
    /// - Throws: `invalid` with the names that the token may use, for any other name, and without a name where the token is
    ///   limited to routes.
    package func route(_ name: String?, for principal: Principal?) throws(UploadError) -> UploadRoute? {
        if name == nil, principal?.routes == nil { return nil }
        if let name, let route = route(name), principal?.mayUse(route: name) ?? true { return route }
        let known = names(for: principal).map { "“\($0)”" }.joined(separator: ", ")
        let remedy = known.isEmpty ? "there is none that it may take" : "it may take \(known)"
        let problem = name.map { "There is no route “\($0.excerpt)” for this upload" } ?? "The upload names no route"
        throw UploadError(.invalid, "\(problem); \(remedy).")
    }
}

internal import Commands
package import FlowText
package import Uploads

/// The routes of a door, in the order of the configuration.
package struct UploadRoutes: Sendable {
    package let routes: [UploadRoute]

    package init(_ routes: [UploadRoute] = []) { self.routes = routes }

    package var names: [String] { routes.map(\.name) }

    /// - Returns: nil where there is none of that name.
    package func route(_ name: String) -> UploadRoute? { routes.first { $0.name == name } }
}

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

extension UploadRoutes {
    /// The key of `sluice.yaml`.
    package static let key = "routes"

    /// Reads the routes of `sluice.yaml`: a mapping of names.
    /// - Parameter file: the whole configuration.
    /// - Throws: ``RouteError`` with the position of the first problem.
    package init(reading file: LocatedValue) throws(RouteError) {
        guard let section = file.members?.first(where: { $0.name == Self.key }), section.value.value != .null else {
            self.init()
            return
        }
        guard let members = section.value.members else {
            throw RouteError(
                position: section.position,
                problem: "“\(Self.key)” must be a mapping of names to routes, not \(section.value.value.kind)")
        }
        var routes: [UploadRoute] = []
        for member in members {
            let reader = UploadRouteReader(member)
            routes.append(try reader.route())
        }
        self.init(routes)
    }
}

/// Routes of open uploads that the configuration does not have any more: the bytes stay until the uploads expire.
package enum MissingRoutes {
    /// - Parameter uploads: open ones, by their routes.
    /// - Returns: a sentence for each such route, with its remedy.
    package static func sentences(_ uploads: [String: Int], in routes: UploadRoutes) -> [String] {
        uploads.filter { routes.route($0.key) == nil }.sorted { $0.key < $1.key }.map { route, count in
            "\(count) open upload\(count == 1 ? "" : "s") of the route “\(route.excerpt)”, which is not in sluice.yaml: put it "
                + "back and restart the door, or end the uploads with “sluice uploads remove”; their bytes stay until they expire"
        }
    }
}

/// The routes of a door, in the order of the configuration.
package struct UploadRoutes: Sendable {
    package let routes: [UploadRoute]

    package init(_ routes: [UploadRoute] = []) { self.routes = routes }

    package var names: [String] { routes.map(\.name) }

    /// - Returns: nil where there is none of that name.
    package func route(_ name: String) -> UploadRoute? { routes.first { $0.name == name } }
}

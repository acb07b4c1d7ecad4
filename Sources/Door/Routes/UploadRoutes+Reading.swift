internal import Commands
package import FlowText

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

internal import Commands

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

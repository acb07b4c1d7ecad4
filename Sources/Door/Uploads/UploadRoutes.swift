package import Uploads

/// The routes of the configuration: each decides what an upload becomes.
package protocol UploadRoutes: Sendable {
    var names: Set<String> { get }
}

extension NoRoutes: UploadRoutes {
    package var names: Set<String> { [] }
}

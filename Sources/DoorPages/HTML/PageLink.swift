internal import Commands

/// A page or an action of this door: its path below the base path, and its query.
package struct PageLink: Sendable {
    var path: [String]
    var query: [(name: String, value: String)] = []

    init(_ path: String..., query: [(name: String, value: String)] = []) {
        self.path = path
        self.query = query
    }

    static let overview = PageLink()
    static let commands = PageLink("commands")
    static let links = PageLink("links")
    static let workers = PageLink("workers")
    static let uploads = PageLink("uploads")
    static let upload = PageLink("upload")
    static let flows = PageLink("flows")
    static let batches = PageLink("batches")
    static let limits = PageLink("limits")
    static let schedules = PageLink("schedules")
    static let keys = PageLink("keys")
    static let login = PageLink("login")
    static let logout = PageLink("logout")

    static func commands(_ query: [(name: String, value: String)]) -> PageLink { PageLink("commands", query: query) }
    /// - Parameter before: `seq` of a transition: the page of the timeline before it.
    static func command(_ id: CommandID, before seq: Int64? = nil) -> PageLink {
        PageLink("commands", id.description, query: seq.map { [("before", "\($0)")] } ?? [])
    }
    static func action(_ verb: String, on id: CommandID) -> PageLink { PageLink("commands", id.description, verb) }
    static func flow(_ id: CommandID) -> PageLink { PageLink("flows", id.description) }
    static func batch(_ id: CommandID) -> PageLink { PageLink("batches", id.description) }
    static func limit(_ name: String) -> PageLink { PageLink("limits", name) }
    static func asset(_ name: String) -> PageLink { PageLink("assets", Assets.hash, name) }
}

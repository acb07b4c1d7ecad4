internal import Door

/// The pages that the navigation names.
enum PageSection: String, CaseIterable {
    case overview, commands, links, workers, uploads, flows, batches, schedules, limits, upload

    var title: String {
        switch self {
        case .upload: "+ Upload"
        default: rawValue.prefix(1).uppercased() + rawValue.dropFirst()
        }
    }

    /// The key after “g” that leads to the page.
    var key: String {
        switch self {
        case .upload: "n"
        case .limits: "m"
        default: String(rawValue.prefix(1))
        }
    }

    var link: PageLink {
        switch self {
        case .overview: .overview
        case .commands: .commands
        case .links: .links
        case .workers: .workers
        case .uploads: .uploads
        case .flows: .flows
        case .batches: .batches
        case .schedules: .schedules
        case .limits: .limits
        case .upload: .upload
        }
    }
}

/// The keys, each of which has a visible control too.
struct KeysPage: Sendable {
    let route: PageRoute

    var endpoints: [Endpoint] { [route.page("/keys", scopes: Set(Scope.allCases), Self.show)] }

    private static let keys: [(keys: [String], meaning: String)] = [
        (["/"], "search: the part of an id, a file name, or a reason"),
        (["j", "k"], "the next and the previous row"), (["Enter"], "open the row"), (["x"], "tick the row"),
        (["r"], "retry the row, or the command of the page"), (["c"], "cancel it, after a question"),
    ]
    private static let otherKeys: [(keys: [String], meaning: String)] = [
        (["p"], "pause live updates, and go on"), (["?"], "this page"), (["Esc"], "leave a field, close a menu"),
    ]

    private static func show(_ visit: Visit) -> Response {
        visit.page("Keys", nil) {
            tag(.h1) { "Keys" }
            tag(.section, .class("panel"), .the(.label, "Keys")) {
                tag(.p, .class("dim")) { "They need the script, and are off in fields." }
                tag(.dl, .class("facts")) {
                    let pages = PageSection.allCases.map { (keys: ["g", $0.key], meaning: "the page “\($0.title)”") }
                    for entry in keys + pages + otherKeys {
                        tag(.dt) {
                            for (index, key) in entry.keys.enumerated() {
                                if index > 0 { " " }
                                tag(.kbd) { key }
                            }
                        }
                        tag(.dd) { entry.meaning }
                    }
                }
            }
        }
    }
}

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

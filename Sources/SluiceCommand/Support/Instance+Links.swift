internal import Commands
internal import Console
internal import Coordination
internal import NetworkControl
internal import Store

/// What the store tells of links: how the coordinator left them, and what a person set.
extension Instance {
    /// What people set, by destination.
    func overrides() throws(StoreError) -> [Destination: LinkOverrideSetting] {
        LinkOverrideSetting.parse(try store.knownSettings(prefix: LinkOverrideSetting.prefix))
    }

    /// As the last coordinator left them.
    func storedLinks() throws(StoreError) -> StoredLinks {
        StoredLinks(settings: try store.knownSettings(prefix: Self.linkPrefix))
    }
}

/// Links in settings `link.<direction>.<destination>`. Each is parsed when it is visited: twenty thousand of them parsed
/// take three times the memory of their texts.
struct StoredLinks {
    let settings: [String: String]

    func visit(_ body: (LinkReading) -> Void) {
        for (key, value) in settings {
            let name = key.dropFirst(Instance.linkPrefix.count)
            guard let dot = name.firstIndex(of: "."), ["up", "down"].contains(name[..<dot]),
                let parsed = try? JSONValue(parsing: value.utf8),
                var link = LinkReading(destination: name[name.index(after: dot)...], body: parsed)
            else { continue }
            link.direction = String(name[..<dot])
            body(link)
        }
    }
}

/// What people set of links. It goes before what the coordinator said, which may not have heard of it yet.
struct LinkOverrides: Equatable {
    private let settings: [String: LinkOverrideSetting]

    init(_ settings: [Destination: LinkOverrideSetting]) {
        self.settings = Dictionary(settings.map { ($0.key.text, $0.value) }) { first, _ in first }
    }

    /// The links that `visit` passes on, and those that only a person has named.
    /// - Parameter limit: of links shown; nil shows every link.
    func overview(limit: Int?, visit: ((LinkReading) -> Void) -> Void) -> LinkOverview {
        var overview = LinkOverview(limit: limit)
        var unseen = settings
        visit { link in
            guard let setting = settings[link.destination] else { return overview.add(link) }
            unseen[link.destination] = nil
            var link = link
            link.isForced = setting.override.isOffline
            link.maxRate = setting.override.maxRate ?? link.maxRate
            overview.add(link)
        }
        for (destination, setting) in unseen {
            var link = LinkReading(destination: destination, level: setting.override.isOffline ? "offline" : "unknown")
            link.isForced = setting.override.isOffline
            link.maxRate = setting.override.maxRate
            link.since = setting.since
            overview.add(link)
        }
        return overview
    }
}

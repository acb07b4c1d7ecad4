package import Commands
package import Console
package import NetworkControl

/// The settings of links that a person has made. They win over the coordinator's report, which may be older.
package struct LinkOverrides: Equatable, Sendable {
    private let settings: [String: LinkOverrideSetting]

    package init(_ settings: [Destination: LinkOverrideSetting]) {
        self.settings = Dictionary(settings.map { ($0.key.text, $0.value) }) { first, _ in first }
    }

    /// The links that `visit` passes on, and those that only a setting names.
    /// - Parameter limit: of links shown; nil shows every link.
    package func overview(limit: Int?, visit: ((LinkReport) -> Void) -> Void) -> LinkOverview {
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
            var link = LinkReport(destination: destination, level: setting.override.isOffline ? .offline : .unknown)
            link.isForced = setting.override.isOffline
            link.maxRate = setting.override.maxRate
            link.since = setting.since
            overview.add(link)
        }
        return overview
    }
}

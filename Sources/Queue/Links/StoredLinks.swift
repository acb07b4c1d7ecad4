package import Commands
package import NetworkControl
internal import Store

/// The links in the settings `link.<direction>.<destination>`. A link is parsed when it is visited: twenty
/// thousand parsed links take three times the memory of their texts.
package struct StoredLinks: Sendable {
    let settings: [String: String]

    package init(settings: [String: String]) { self.settings = settings }

    /// - Parameter now: a setting is written when its link changes, so a time of a probe that has passed says nothing.
    package func visit(now: Timestamp, _ body: (LinkReport) -> Void) {
        for (key, value) in settings {
            let name = key.dropFirst(SettingKey.linkPrefix.count)
            guard let dot = name.firstIndex(of: "."), let direction = Direction(rawValue: String(name[..<dot])),
                let parsed = try? JSONValue(parsing: value.utf8),
                var link = LinkReport(destination: name[name.index(after: dot)...], body: parsed)
            else { continue }
            link.direction = direction
            if let probe = link.nextProbe, probe < now { link.nextProbe = nil }
            if let probe = link.circuitBreaker?.nextProbe, probe < now { link.circuitBreaker?.nextProbe = nil }
            body(link)
        }
    }
}

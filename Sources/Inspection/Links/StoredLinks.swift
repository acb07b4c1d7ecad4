internal import Commands
package import NetworkControl
internal import Store

/// The links in the settings `link.<direction>.<destination>`. A link is parsed when it is visited: twenty
/// thousand parsed links take three times the memory of their texts.
package struct StoredLinks: Sendable {
    let settings: [String: String]

    package func visit(_ body: (LinkReport) -> Void) {
        for (key, value) in settings {
            let name = key.dropFirst(SettingKey.linkPrefix.count)
            guard let dot = name.firstIndex(of: "."), let direction = Direction(rawValue: String(name[..<dot])),
                let parsed = try? JSONValue(parsing: value.utf8),
                var link = LinkReport(destination: name[name.index(after: dot)...], body: parsed)
            else { continue }
            link.direction = direction
            body(link)
        }
    }
}

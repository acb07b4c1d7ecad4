internal import Commands
package import Console
internal import Store

/// The links in the settings `link.<direction>.<destination>`. A link is parsed when it is visited: twenty
/// thousand parsed links take three times the memory of their texts.
package struct StoredLinks {
    let settings: [String: String]

    package func visit(_ body: (LinkReading) -> Void) {
        for (key, value) in settings {
            let name = key.dropFirst(SettingKey.linkPrefix.count)
            guard let dot = name.firstIndex(of: "."), ["up", "down"].contains(name[..<dot]),
                let parsed = try? JSONValue(parsing: value.utf8),
                var link = LinkReading(destination: name[name.index(after: dot)...], body: parsed)
            else { continue }
            link.direction = String(name[..<dot])
            body(link)
        }
    }
}

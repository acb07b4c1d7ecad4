internal import Commands
internal import Console
internal import Coordination
internal import NetworkControl
internal import Store

/// Links in settings `link.<direction>.<destination>`. Each is parsed when it is visited: twenty thousand of them parsed
/// take three times the memory of their texts.
struct StoredLinks {
    let settings: [String: String]

    func visit(_ body: (LinkReading) -> Void) {
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

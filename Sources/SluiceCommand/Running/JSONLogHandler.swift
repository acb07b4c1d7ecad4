internal import Commands
internal import Console
internal import Logging

/// `{"at":"…","level":"info","label":"worker","message":"Worker ready.","seat":"0"}`
struct JSONLogHandler: LogHandler {
    let label: String
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    init(label: String) { self.label = label }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var members: [JSONValue.Member] = [
            .init("at", .string(Timestamp.now.description)), .init("level", .string(event.level.rawValue)),
            .init("label", .string(label)), .init("message", .string("\(event.message)")),
        ]
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) where !members.contains(where: { $0.name == key }) {
            members.append(.init(key, .string("\(value)")))
        }
        Diagnostics.write(JSONValue.object(members).text + "\n")
    }
}

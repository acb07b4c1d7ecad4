internal import Commands
internal import Console
internal import Logging

/// Writes log lines to standard error.
struct StandardErrorLogHandler: LogHandler {
    let label: String
    let format: LogOptions.Format
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    init(label: String, format: LogOptions.Format) {
        self.label = label
        self.format = format
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        switch format {
        case .text: Diagnostics.write(TerminalText.plain(text(event, all)) + "\n")
        case .json: Diagnostics.write(json(event, all).text + "\n")
        }
    }

    /// `12:34:56.789 info    worker: Worker ready. seat=0`
    private func text(_ event: LogEvent, _ metadata: [Logger.Metadata.Element]) -> String {
        var line = "\(Timestamp.now.description.dropFirst(11).dropLast()) "
        line += event.level.rawValue + String(repeating: " ", count: max(8 - event.level.rawValue.count, 1))
        line += "\(label): \(event.message)"
        for (key, value) in metadata { line += " \(key)=\(value)" }
        return line
    }

    /// `{"at":"…","level":"info","label":"worker","message":"Worker ready.","seat":"0"}`
    private func json(_ event: LogEvent, _ metadata: [Logger.Metadata.Element]) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("at", .string(Timestamp.now.description)), .init("level", .string(event.level.rawValue)),
            .init("label", .string(label)), .init("message", .string("\(event.message)")),
        ]
        for (key, value) in metadata where !members.contains(where: { $0.name == key }) {
            members.append(.init(key, .string("\(value)")))
        }
        return .object(members)
    }
}

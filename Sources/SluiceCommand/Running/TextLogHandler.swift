internal import Commands
internal import Console
internal import Logging

/// `12:34:56.789 info  worker: Worker ready. seat=0`
struct TextLogHandler: LogHandler {
    let label: String
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    init(label: String) { self.label = label }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = "\(Timestamp.now.description.dropFirst(11).dropLast()) "
        line += event.level.rawValue + String(repeating: " ", count: max(8 - event.level.rawValue.count, 1))
        line += "\(label): \(event.message)"
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) { line += " \(key)=\(value)" }
        Diagnostics.write(TerminalText.plain(line) + "\n")
    }
}

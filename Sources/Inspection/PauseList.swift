internal import Commands
internal import Store

/// What a person has paused: settings `pause.<qos or *>.<destination or *>`, whose value is the time.
struct PauseList {
    struct Entry: Equatable {
        /// Nil: every quality.
        var qos: QualityOfService?
        /// Nil: every destination.
        var destination: Destination?
        var since: String

        var key: String { SettingKey.pause(qos: qos, destination: destination) }

        init(qos: QualityOfService?, destination: Destination?, since: String) {
            self.qos = qos
            self.destination = destination
            self.since = since
        }

        /// Nil for a key that somebody else made.
        init?(key: String, since: String) {
            let parts = key.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return nil }
            let qos = QualityOfService(name: String(parts[1]))
            let destination = parts[2] == "*" ? nil : Destination(String(parts[2]))
            guard parts[1] == "*" || qos != nil, parts[2] == "*" || destination != nil else { return nil }
            self.init(qos: qos, destination: destination, since: since)
        }

        func covers(_ command: Command) -> Bool {
            (qos == nil || qos == command.qos) && (destination == nil || destination == command.destination)
        }

        /// `everything`, `background commands to https://host:443`
        var what: String {
            switch (qos, destination) {
            case (nil, nil): "everything"
            case (let qos?, nil): "\(qos) commands"
            case (nil, let destination?): "commands to \(destination)"
            case (let qos?, let destination?): "\(qos) commands to \(destination)"
            }
        }

        var sentence: String { "\(what), since \(since)" }

        /// The command line that undoes it.
        var resume: String {
            "sluice resume" + (qos.map { " --qos \($0)" } ?? "") + (destination.map { " --destination \($0)" } ?? "")
        }

        var json: JSONValue {
            .object([
                .init("qos", qos.map { .string($0.name) } ?? .null),
                .init("destination", destination.map { .string($0.text) } ?? .null), .init("since", .string(since)),
            ])
        }
    }

    let entries: [Entry]

    init(_ settings: [String: String]) {
        entries = settings.compactMap { Entry(key: $0, since: $1) }.sorted { $0.key < $1.key }
    }

    init(store: any CommandStore) throws(StoreError) { self.init(try store.settings(prefix: SettingKey.pausePrefix)) }
}

package import Commands
package import Store

/// The pauses that a person has set: settings `pause.<qos or *>.<destination or *>`, each with its time as
/// value.
package struct PauseList {
    package struct Entry: Equatable {
        /// Nil: every quality of service.
        package var qos: QualityOfService?
        /// Nil: every destination.
        package var destination: Destination?
        package var since: String

        package var key: String { SettingKey.pause(qos: qos, destination: destination) }

        package init(qos: QualityOfService?, destination: Destination?, since: String) {
            self.qos = qos
            self.destination = destination
            self.since = since
        }

        /// - Returns: nil for a key of another form.
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
        package var scope: String {
            switch (qos, destination) {
            case (nil, nil): "everything"
            case (let qos?, nil): "\(qos) commands"
            case (nil, let destination?): "commands to \(destination)"
            case (let qos?, let destination?): "\(qos) commands to \(destination)"
            }
        }

        package var sentence: String { "\(scope), since \(since)" }

        /// The command line that lifts the pause.
        package var resume: String {
            "sluice resume" + (qos.map { " --qos \($0)" } ?? "") + (destination.map { " --destination \($0)" } ?? "")
        }

        package var json: JSONValue {
            .object([
                .init("qos", qos.map { .string($0.name) } ?? .null),
                .init("destination", destination.map { .string($0.text) } ?? .null), .init("since", .string(since)),
            ])
        }
    }

    package let entries: [Entry]

    package init(_ settings: [String: String]) {
        entries = settings.compactMap { Entry(key: $0, since: $1) }.sorted { $0.key < $1.key }
    }

    package init(store: any CommandStore) throws(StoreError) {
        self.init(try store.settings(prefix: SettingKey.pausePrefix))
    }
}

package import Commands

/// A pause that a person has set: the setting `pause.<quality or *>.<destination or *>`, whose value is the
/// time.
package struct Pause: Sendable, Equatable {
    /// Nil: every quality of service.
    package var qos: QualityOfService?
    /// Nil: every destination.
    package var destination: Destination?
    /// RFC 3339.
    package var since: String

    package init(qos: QualityOfService?, destination: Destination?, since: String) {
        self.qos = qos
        self.destination = destination
        self.since = since
    }

    /// The key of the setting.
    package var key: String { SettingKey.pause(qos: qos, destination: destination) }

    /// - Returns: nil for a key of another form, which pauses nothing.
    package init?(key: String, since: String) {
        let parts = key.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let qos = QualityOfService(name: String(parts[1]))
        let destination = parts[2] == "*" ? nil : Destination(String(parts[2]))
        guard parts[1] == "*" || qos != nil, parts[2] == "*" || destination != nil else { return nil }
        self.init(qos: qos, destination: destination, since: since)
        guard self.key == key else { return nil }
    }

    /// The pauses among settings, by key.
    package static func parse(_ settings: [String: String]) -> [Pause] {
        settings.compactMap { Pause(key: $0, since: $1) }.sorted { $0.key < $1.key }
    }

    /// A bit for each quality that it covers.
    package var qualityBits: UInt8 { qos.map { UInt8(1) << UInt8($0.rawValue) } ?? 0b11111 }

    package func covers(_ command: Command) -> Bool {
        (qos == nil || qos == command.qos) && (destination == nil || destination == command.destination)
    }
}

package import Commands
internal import Store

/// Pauses in the settings: the key is `pause.<quality or *>.<destination or *>`, the value the time when it
/// was set.
package enum Pauses {
    /// Reads keys back. A key of another form pauses nothing.
    package static func parse(_ settings: [String: String]) -> [(destination: Destination?, qualities: UInt8)] {
        settings.keys.sorted().compactMap { key in
            let parts = key.dropFirst(SettingKey.pausePrefix.count).split(
                separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard key.hasPrefix(SettingKey.pausePrefix), parts.count == 2 else { return nil }
            let qualities: UInt8
            if parts[0] == "*" {
                qualities = 0b11111
            } else if let qos = QualityOfService(name: String(parts[0])) {
                qualities = 1 << UInt8(qos.rawValue)
            } else {
                return nil
            }
            return (parts[1] == "*" ? nil : Destination(unchecked: String(parts[1])), qualities)
        }
    }
}

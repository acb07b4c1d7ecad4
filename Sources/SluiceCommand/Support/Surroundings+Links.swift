internal import Commands
internal import Console
internal import Coordination
internal import NetworkControl
internal import Store

/// What the store tells of links: how the coordinator left them, and what a person set.
extension Surroundings {
    /// What people set, by destination.
    func overrides() throws(StoreError) -> [Destination: LinkOverrideSetting] {
        LinkOverrideSetting.parse(try store.knownSettings(prefix: LinkOverrideSetting.prefix))
    }

    /// The worst first. What a person set goes before what the coordinator said, which may not have heard of it yet.
    /// - Parameter live: as events tell them; nil without a coordinator.
    func readings(live: [LinkReading]?) throws(StoreError) -> [LinkReading] {
        var readings = if let live { live } else { try stored() }
        for (destination, setting) in try overrides() {
            let indices = readings.indices.filter { readings[$0].destination == destination.text }
            for index in indices {
                readings[index].isForced = setting.override.isOffline
                readings[index].maxRate = setting.override.maxRate ?? readings[index].maxRate
            }
            guard indices.isEmpty else { continue }
            var reading = LinkReading(
                destination: destination.text, level: setting.override.isOffline ? "offline" : "unknown")
            reading.isForced = setting.override.isOffline
            reading.maxRate = setting.override.maxRate
            reading.since = setting.since
            readings.append(reading)
        }
        return readings.sorted(by: LinkReading.goesBefore)
    }

    /// Settings `link.<direction>.<destination>`.
    private func stored() throws(StoreError) -> [LinkReading] {
        let settings = try store.knownSettings(prefix: Self.linkPrefix)
        var readings: [LinkReading] = []
        for (key, value) in settings {
            let name = key.dropFirst(Self.linkPrefix.count)
            guard let dot = name.firstIndex(of: "."), ["up", "down"].contains(name[..<dot]),
                let body = try? JSONValue(parsing: value.utf8),
                var reading = LinkReading(destination: name[name.index(after: dot)...], body: body)
            else { continue }
            reading.direction = String(name[..<dot])
            readings.append(reading)
        }
        return readings
    }
}

internal import Commands
package import Settings

extension NetworkPolicy {
    /// Reads the section `network`, the list `destinations`, and for each name in it the section
    /// `destination.<name>`:
    ///
    /// | key | default | meaning |
    /// |---|---|---|
    /// | `network.level.<level>.<quality>` | see the example | a verb, see below |
    /// | `network.level.<level>.limit` | 64, 4, 2, 0 | transfers of middle and low quality at once |
    /// | `network.threshold.poorRate` | 256kbit | rate below which a link is poor |
    /// | `network.threshold.degradedRate` | 2Mbit | rate below which it is degraded |
    /// | `network.threshold.degradedShare` | 50% | share of its reference below which it is degraded |
    /// | `network.threshold.degradedErrors` | 20% | share of transfers that fail for a degraded link |
    /// | `network.threshold.poorErrors` | 50% | the same for a poor one |
    /// | `network.threshold.poorStalls` | 50% | share of transfers without progress |
    /// | `network.threshold.degradedQueue` | 0.4 | seconds of delay in queues, if goodput fell too |
    /// | `network.threshold.degradedRoundTrip` | 0.672 | seconds, of a link without goodput |
    /// | `network.threshold.poorRoundTrip` | 1.42 | the same for a poor link |
    /// | `network.threshold.leaveFactor` | 1.3 | a level is left at this multiple of its threshold |
    /// | `network.threshold.enterAfter` | 1 | seconds that a worse level must last |
    /// | `network.threshold.leaveAfter` | 3 | seconds that a better level must last |
    /// | `network.threshold.unknownAfter` | 60 | seconds without evidence until a level is forgotten |
    /// | `network.maxTransfers` | 64 | transfers of middle and low quality over all links, and as many high |
    /// | `network.floor` | 5% | share of the link for a class that would not run otherwise |
    /// | `network.longestStandstill` | 60 | seconds that a low transfer may stand still, see below |
    /// | `network.agingStep` | 60 | seconds of waiting that count as one step of quality within a class |
    /// | `network.probeInterval` | 60 | seconds between two probes of an open circuit breaker |
    /// | `network.preemption` | true | whether low quality yields to high |
    /// | `network.fixedConcurrency` | none | a fixed number of transfers to each destination, see below |
    /// | `destination.<name>.origin` | – | scheme, host and port, as in `https://media.example.com` |
    /// | `destination.<name>.maxConcurrency` | as measured | transfers of all qualities, high ones first |
    /// | `destination.<name>.maxRate` | no limit | of all transfers together |
    /// | `destination.<name>.starts` | no limit | commands that may start in a time: `30/s`, `100/min` |
    /// | `destination.<name>.burst` | a tenth of `starts` | of them in one moment; at least those of a second |
    /// | `destination.<name>.backgroundHours` | always | `22:00-06:00`: `background` begins then, local time |
    ///
    /// * Verbs are `run`, `throttle 25%`, `pause`, `preempt` and `cancel`. Levels are `good` (also for `unknown`),
    ///   `degraded`, `poor`, `offline`, and `contended` while high quality is active and the link saturated. The
    ///   defaults are in `deploy/sluice.example.yaml`.
    /// * A class that waits gets its floor a sixth of `longestStandstill` earlier.
    /// * With `fixedConcurrency` nothing is measured, and there are neither levels nor preemption.
    ///
    /// Rates are `2Mbit`, `250kB` or bytes per second. A limit that is not given is at most that of the next
    /// better level (of `good`: `maxTransfers`). A verb that is not given is at least as strict as that of a
    /// higher quality in the same level, except for `offline`, where the qualities are independent.
    ///
    /// - Throws: ``SettingsError`` naming the key.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        self.init()
        try reader.read(&globalLimit, ["network", "maxTransfers"])
        try readLevels(&reader)
        try readThresholds(&reader)
        try reader.readPercent(&floorPercent, ["network", "floor"])
        try reader.read(&maxStandstill, ["network", "longestStandstill"])
        try reader.read(&agingStep, ["network", "agingStep"])
        try reader.read(&probeInterval, ["network", "probeInterval"])
        try reader.read(&preemptionIsOn, ["network", "preemption"])
        fixedConcurrency = try reader.value(["network", "fixedConcurrency"], takes: "a whole number") { Int($0) }
        try readDestinations(&reader)
        try validate()
    }

    private mutating func readLevels(_ reader: inout SettingsReader) throws(SettingsError) {
        try Self.read(&good, "good", limit: globalLimit, &reader)
        try Self.read(&degraded, "degraded", limit: good.limit, &reader)
        try Self.read(&poor, "poor", limit: degraded.limit, &reader)
        try Self.read(&offline, "offline", limit: 0, &reader)
        try Self.read(&contended, "contended", limit: nil, &reader)
    }

    /// - Parameter limit: of the next better level; nil where a limit means nothing.
    private static func read(
        _ row: inout PolicyRow, _ level: String, limit: Int?, _ reader: inout SettingsReader
    ) throws(SettingsError) {
        let path = ["network", "level", level]
        var higher = PolicyVerb.run
        for qos in QualityOfService.allCases {
            let verb = try reader.value(path + [qos.name], takes: PolicyVerb.words) { PolicyVerb(text: $0) }
            row[qos] = verb ?? row[qos].noMilder(than: higher)
            if level != "offline" { higher = row[qos] }
        }
        guard let limit else { return }
        row.limit = min(row.limit, limit)
        try reader.read(&row.limit, path + ["limit"])
    }

    private mutating func readThresholds(_ reader: inout SettingsReader) throws(SettingsError) {
        func path(_ name: String) -> [String] { ["network", "threshold", name] }
        try reader.readRate(&thresholds.poorRate, path("poorRate"))
        try reader.readRate(&thresholds.degradedRate, path("degradedRate"))
        try reader.readShare(&thresholds.degradedShare, path("degradedShare"))
        try reader.readShare(&thresholds.degradedErrors, path("degradedErrors"))
        try reader.readShare(&thresholds.poorErrors, path("poorErrors"))
        try reader.readShare(&thresholds.poorStalls, path("poorStalls"))
        try reader.read(&thresholds.degradedQueue, path("degradedQueue"))
        try reader.read(&thresholds.degradedRoundTrip, path("degradedRoundTrip"))
        try reader.read(&thresholds.poorRoundTrip, path("poorRoundTrip"))
        try reader.read(&thresholds.leaveFactor, path("leaveFactor"))
        try reader.read(&thresholds.enterAfter, path("enterAfter"))
        try reader.read(&thresholds.leaveAfter, path("leaveAfter"))
        try reader.read(&thresholds.unknownAfter, path("unknownAfter"))
    }

    private mutating func readDestinations(_ reader: inout SettingsReader) throws(SettingsError) {
        for name in try reader.list(["destinations"]) {
            let path = ["destination", name]
            let key = "destination.\(name)"
            guard let origin = try reader.origin(path) else {
                throw SettingsError(key: "\(key).origin", problem: "is missing")
            }
            guard destinations[origin] == nil else {
                throw SettingsError(key: "\(key).origin", problem: "names \(origin), which has a section already")
            }
            var limits = DestinationLimits()
            limits.maxConcurrency = try reader.value(path + ["maxConcurrency"], takes: "a whole number") { Int($0) }
            limits.maxRate = try reader.rate(path + ["maxRate"])
            limits.starts = try reader.value(path + ["starts"], takes: "a rate such as \(StartRate.forms)") {
                StartRate(text: $0)
            }
            limits.burst = try reader.value(path + ["burst"], takes: "a whole number") { Int($0) }
            limits.backgroundHours = try reader.value(
                path + ["backgroundHours"], takes: "two times of the day such as 22:00-06:00"
            ) { AllowedHours(text: $0) }
            try limits.validate(key: key, globalLimit: globalLimit)
            destinations[origin] = limits
        }
    }
}

extension SettingsReader {
    fileprivate mutating func readRate(_ value: inout Int64, _ path: [String]) throws(SettingsError) {
        value = try rate(path) ?? value
    }

    fileprivate mutating func rate(_ path: [String]) throws(SettingsError) -> Int64? {
        try value(path, takes: "a rate such as \(RateText.examples)") { RateText.bytesPerSecond($0) }
    }
}

/// Reads rates as people write them.
package enum RateText {
    private static let units: [(name: String, bytes: Double)] = [
        ("bit", 0.125), ("kbit", 125), ("mbit", 125_000), ("gbit", 125_000_000),
        ("B", 1), ("kB", 1000), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000),
    ]

    /// Examples of what ``bytesPerSecond(_:)`` takes, for messages.
    package static let examples = "2Mbit, 250kB or bytes per second"

    /// Reads `2Mbit`, `250kB`, `1.5 MB/s`, or plain bytes per second. The letters of a unit of bits may have
    /// any case. Those of a unit of bytes may not, because `kb` can mean either.
    /// - Returns: nil for anything else, and for more than 1 TB/s.
    package static func bytesPerSecond(_ text: some StringProtocol) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
        guard let number = Double(digits) else { return nil }
        var unit = String(text[digits.endIndex...].drop { $0 == " " })
        if unit.hasSuffix("/s") { unit.removeLast(2) }
        let factor =
            unit.isEmpty ? 1 : units.first { $0.name == unit || $0.bytes != 1 && $0.name == unit.lowercased() }?.bytes
        guard let factor, number * factor <= 1e12 else { return nil }
        return Int64((number * factor).rounded())
    }
}

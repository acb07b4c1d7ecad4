internal import Commands
package import Settings

extension NetworkPolicy {
    /// - Throws: ``SettingsError`` for the first key whose value is out of range or contradicts another.
    package func validate() throws(SettingsError) {
        try validateRows()
        try validateThresholds()
        try validatePreemption()
        try validateDestinations()
    }

    private func validateRows() throws(SettingsError) {
        let rows = [
            ("good", good), ("degraded", degraded), ("poor", poor), ("offline", offline), ("contended", contended),
        ]
        for (name, row) in rows {
            var strictest = PolicyVerb.run
            for qos in QualityOfService.allCases {
                let key = "network.level.\(name).\(qos.name)"
                if case .throttle(let percent) = row[qos] {
                    try check((1...100).contains(percent), key, "throttle takes 1 to 100 percent, not \(percent)")
                }
                if name == "contended" && qos.serviceClass == .high {
                    try check(row[qos] == .run, key, "high quality is what the others yield to; it takes run")
                }
                if name == "offline" {
                    let ends = row[qos] == .preempt || row[qos] == .cancel
                    try check(ends, key, "nothing runs on a link that is offline; it takes preempt or cancel")
                } else {
                    try check(
                        row[qos] != .preempt || qos.serviceClass == .low, key,
                        "only utility and background are preempted; it takes run, throttle, pause or cancel")
                    try check(
                        row[qos].strictness >= strictest.strictness, key,
                        "\(row[qos].name) lets it do more than a higher quality, which has \(strictest.name)")
                }
                strictest = row[qos]
            }
        }
        try check((1...1024).contains(globalLimit), "network.maxTransfers", "takes 1 to 1024, not \(globalLimit)")
        if let fixed = fixedConcurrency {
            try check(
                (1...globalLimit).contains(fixed), "network.fixedConcurrency",
                "takes 1 to \(globalLimit), which is network.maxTransfers, not \(fixed)")
        }
        for (name, row, above) in [
            ("good", good, globalLimit), ("degraded", degraded, good.limit), ("poor", poor, degraded.limit),
        ] {
            try check(
                (1...max(above, 1)).contains(row.limit), "network.level.\(name).limit",
                "takes 1 to \(above), which the next better level allows, not \(row.limit)")
        }
        try check(
            offline.limit == 0, "network.level.offline.limit",
            "nothing but probes goes to a link that is offline; it takes 0")
    }

    private func validateThresholds() throws(SettingsError) {
        let limits = thresholds
        try check(limits.poorRate >= 0, "network.threshold.poorRate", "takes no negative rate")
        try check(
            limits.degradedRate >= limits.poorRate, "network.threshold.degradedRate",
            "lies below poorRate (\(limits.degradedRate) and \(limits.poorRate) bytes per second)")
        for (name, share) in [
            ("degradedShare", limits.degradedShare), ("degradedErrors", limits.degradedErrors),
            ("poorErrors", limits.poorErrors), ("poorStalls", limits.poorStalls),
        ] {
            try check(
                share > 0 && share <= 1, "network.threshold.\(name)", "takes a share above 0 and up to 1, not \(share)")
        }
        try check(
            limits.poorErrors >= limits.degradedErrors, "network.threshold.poorErrors", "lies below degradedErrors")
        try check(
            limits.leaveFactor >= 1 && limits.leaveFactor <= 10, "network.threshold.leaveFactor",
            "takes 1 to 10, not \(limits.leaveFactor): a level is left where things are better than where it is entered"
        )
        try check(
            limits.degradedShare * limits.leaveFactor < 1, "network.threshold.degradedShare",
            "times leaveFactor is 1 or more, so a degraded link would never be good again")
        try check(
            limits.poorRoundTrip >= limits.degradedRoundTrip, "network.threshold.poorRoundTrip",
            "lies below degradedRoundTrip"
        )
        for (name, time, longest) in [
            ("enterAfter", limits.enterAfter, 60), ("leaveAfter", limits.leaveAfter, 600),
            ("unknownAfter", limits.unknownAfter, 86_400), ("degradedQueue", limits.degradedQueue, 60),
            ("degradedRoundTrip", limits.degradedRoundTrip, 60),
        ] {
            try check(
                time > .zero && time <= .seconds(longest), "network.threshold.\(name)",
                "takes more than 0 and up to \(longest) s")
        }
    }

    private func validatePreemption() throws(SettingsError) {
        let rules = preemption
        for (name, time) in [
            ("tolerable", rules.tolerable), ("headStart", rules.headStart), ("escalateAfter", rules.escalateAfter),
            ("idleAfter", rules.idleAfter),
        ] {
            try check(time >= .zero && time <= .seconds(30), "network.preemption.\(name)", "takes 0 to 30 s")
        }
        try check(
            rules.waveInterval >= .seconds(1) && rules.waveInterval <= .seconds(600), "network.preemption.waveInterval",
            "takes 1 s to 600 s")
        try check((1...50).contains(floorPercent), "network.floor", "takes 1 to 50 percent, not \(floorPercent)")
        try check(
            agingStep >= .seconds(1) && agingStep <= .seconds(86_400), "network.agingStep", "takes 1 s to 86400 s")
        try check(
            probeInterval >= .seconds(1) && probeInterval <= .seconds(3600), "network.probeInterval",
            "takes 1 s to 3600 s")
        try check(
            maxStandstill >= .seconds(10) && maxStandstill <= .seconds(3600), "network.longestStandstill",
            "takes 10 s to 3600 s")
    }

    private func validateDestinations() throws(SettingsError) {
        for (destination, limits) in destinations.sorted(by: { $0.key.text < $1.key.text }) {
            try limits.validate(key: "destination.\(destination.text)", globalLimit: globalLimit)
        }
    }

    private func check(_ holds: Bool, _ key: String, _ problem: @autoclosure () -> String) throws(SettingsError) {
        guard holds else { throw SettingsError(key: key, problem: problem()) }
    }
}

extension DestinationLimits {
    /// - Parameters:
    ///   - key: of the section, for the error.
    ///   - globalLimit: transfers over all links.
    /// - Throws: ``SettingsError`` for the first key whose value is out of range or contradicts another.
    package func validate(key: String, globalLimit: Int) throws(SettingsError) {
        if let count = maxConcurrency, !(1...max(globalLimit, 1)).contains(count) {
            throw SettingsError(key: "\(key).maxConcurrency", problem: "takes 1 to \(globalLimit), not \(count)")
        }
        if let rate = maxRate, rate < Self.minRate {
            throw SettingsError(
                key: "\(key).maxRate", problem: "takes \(Self.minRate) bytes per second or more, not \(rate)")
        }
        if let burst {
            guard starts != nil else { throw SettingsError(key: "\(key).burst", problem: "needs “starts” beside it") }
            guard (1...StartRate.maxBurst).contains(burst) else {
                throw SettingsError(key: "\(key).burst", problem: "takes 1 to \(StartRate.maxBurst), not \(burst)")
            }
        }
        guard let hours = backgroundHours else { return }
        guard (0..<1440).contains(hours.from), (1...1440).contains(hours.to), hours.from != hours.to else {
            throw SettingsError(
                key: "\(key).backgroundHours", problem: "takes two different times of the day from 00:00 to 24:00")
        }
    }

    /// Bytes per second; less is nearer to offline than to slow.
    package static let minRate: Int64 = 1000
}

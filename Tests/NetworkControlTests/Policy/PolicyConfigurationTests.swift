import Commands
import NetworkControl
import Settings
import TestSupport
import Testing

@Suite struct PolicyConfigurationTests {
    private func read(_ values: [String: String], lists: [String: [String]] = [:]) throws -> NetworkPolicy {
        var all = values.mapValues { JSONValue.string($0) }
        for (name, value) in lists { all[name] = .array(value.map { .string($0) }) }
        var reader = try SettingsReader(all)
        let policy = try NetworkPolicy(reading: &reader)
        try reader.refuseUnknown()
        return policy
    }

    private func refusal(_ values: [String: String], lists: [String: [String]] = [:]) throws -> SettingsError {
        try #require(#expect(throws: SettingsError.self) { try read(values, lists: lists) })
    }

    @Test func `an empty configuration is the default policy`() throws {
        #expect(try read([:]) == NetworkPolicy())
    }

    @Test func `every kind of value is read`() throws {
        let policy = try read([
            "network.level.degraded.utility": "pause", "network.level.degraded.background": "cancel",
            "network.level.poor.limit": "1", "network.threshold.poorRate": "64kB",
            "network.threshold.degradedRate": "4 Mbit/s", "network.threshold.degradedErrors": "10%",
            "network.threshold.poorErrors": "0.7", "network.threshold.leaveAfter": "2.5",
            "network.threshold.leaveFactor": "1.5", "network.maxTransfers": "100", "network.floor": "7%",
            "network.longestStandstill": "90", "network.agingStep": "30", "network.preemption": "no",
            "network.probeInterval": "5",
            "network.fixedConcurrency": "8",
        ])
        #expect(policy.degraded[.utility] == .pause)
        #expect(policy.degraded[.background] == .cancel)
        #expect(policy.poor.limit == 1)
        #expect(policy.thresholds.poorRate == 64_000)
        #expect(policy.thresholds.degradedRate == 500_000)
        #expect(policy.thresholds.degradedErrors == 0.1)
        #expect(policy.thresholds.poorErrors == 0.7)
        #expect(policy.thresholds.leaveAfter == .milliseconds(2500))
        #expect(policy.thresholds.leaveFactor == 1.5)
        #expect(policy.globalLimit == 100)
        #expect(policy.floorPercent == 7)
        #expect(policy.maxStandstill == .seconds(90))
        #expect(policy.agingStep == .seconds(30))
        #expect(policy.probeInterval == .seconds(5))
        #expect(!policy.preemptionIsOn)
        #expect(policy.fixedConcurrency == 8)
    }

    @Test func `the limits of destinations are read`() throws {
        let policy = try read(
            [
                "destination.a.origin": "https://a.example.com", "destination.a.maxConcurrency": "6",
                "destination.a.maxRate": "20Mbit", "destination.a.backgroundHours": "22:00-06:00",
                "destination.b.origin": "http://b:8080/",
            ], lists: ["destinations": ["a", "b"]])
        let a = try #require(Destination("https://a.example.com:443"))
        #expect(
            policy.destinations[a]
                == DestinationLimits(
                    maxConcurrency: 6, maxRate: 2_500_000, backgroundHours: AllowedHours(from: 22 * 60, to: 6 * 60)))
        #expect(policy.destinations.count == 2)
    }

    @Test func `a value that is not given is at least as strict as those that are`() throws {
        let policy = try read(["network.maxTransfers": "3", "network.level.degraded.default": "pause"])
        #expect([policy.good, policy.degraded, policy.poor, policy.offline].map(\.limit) == [3, 3, 2, 0])
        #expect(policy.degraded[.utility] == .pause && policy.degraded[.background] == .pause)
        #expect(policy.degraded[.userInitiated] == .run)
        // The qualities of offline are independent: one may be cancelled and a lower one not.
        #expect(try read(["network.level.offline.default": "cancel"]).offline[.utility] == .preempt)
    }

    @Test(arguments: [
        ("network.level.good.utility", "fast"), ("network.level.good.utility", ""),
        ("network.level.good.utility", "throttle"), ("network.level.good.utility", "throttle 0%"),
        ("network.level.good.default", "throttle -9223372036854775808%"),
        ("network.level.good.utility", "throttle 101%"), ("network.level.good.utility", "throttle 5"),
        ("network.level.offline.utility", "run"), ("network.level.contended.userInitiated", "pause"),
        ("network.level.good.limit", "65"), ("network.level.degraded.limit", "many"),
        ("network.level.poor.limit", "0"), ("network.level.offline.limit", "1"),
        ("network.threshold.poorRate", "fast"), ("network.threshold.poorRate", "-1"),
        ("network.threshold.degradedRate", "1kB"), ("network.threshold.degradedShare", "80%"),
        ("network.threshold.degradedErrors", "0"), ("network.threshold.poorErrors", "10%"),
        ("network.threshold.poorStalls", "2"), ("network.threshold.degradedQueue", "-1"),
        ("network.threshold.degradedRoundTrip", "0"), ("network.threshold.poorRoundTrip", "0.1"),
        ("network.threshold.leaveFactor", "0.5"), ("network.threshold.leaveFactor", "nan"),
        ("network.threshold.enterAfter", "0"), ("network.threshold.leaveAfter", "1 hour"),
        ("network.threshold.unknownAfter", "1e300"), ("network.maxTransfers", "0"), ("network.maxTransfers", "1.5"),
        ("network.maxTransfers", "99999999999999999999"), ("network.floor", "0"), ("network.floor", "51%"),
        ("network.longestStandstill", "1"), ("network.agingStep", "0"), ("network.probeInterval", "0"),
        ("network.probeInterval", "7200"), ("network.preemption", "perhaps"),
        ("network.fixedConcurrency", "0"), ("network.level.poor.default", "preempt"),
        ("network.fixedConcurrency", "65"),
    ])
    func `a value out of range is refused by its key`(_ key: String, _ value: String) throws {
        #expect(try refusal([key: value]).key == key)
    }

    @Test(arguments: [
        ("origin", "media.example.com"), ("origin", "https://a/path"), ("origin", "https://u@a"),
        ("origin", "file:///"),
        ("maxConcurrency", "0"), ("maxConcurrency", "65"), ("maxConcurrency", "x"), ("maxRate", "999"),
        ("maxRate", "2mb"), ("backgroundHours", "22:00"), ("backgroundHours", "22:00-25:00"),
        ("backgroundHours", "24:00-06:00"), ("backgroundHours", "08:00-08:00"), ("backgroundHours", "8-9"),
    ])
    func `a destination's key is refused by the name of its section`(_ name: String, _ value: String) throws {
        var values = ["destination.media.origin": "https://media.example.com"]
        values["destination.media.\(name)"] = value
        #expect(try refusal(values, lists: ["destinations": ["media"]]).key == "destination.media.\(name)")
    }

    @Test func `a destination needs an origin of its own`() throws {
        #expect(try refusal([:], lists: ["destinations": ["a"]]).key == "destination.a.origin")
        let twice = ["destination.a.origin": "https://a", "destination.b.origin": "https://A:443/"]
        #expect(try refusal(twice, lists: ["destinations": ["a", "b"]]).key == "destination.b.origin")
    }

    @Test(arguments: [
        (
            "network.speed",
            "agingStep, fixedConcurrency, floor, level, longestStandstill, maxTransfers, preemption, probeInterval, "
                + "threshold"
        ),
        ("network.maxTransfer", "is it “network.maxTransfers”?"),
        ("network.level.bad.utility", "contended, degraded, good, offline, poor"),
        ("network.level.contended.limit", "background, default, userInitiated, userInteractive, utility"),
        ("network.floor.percent", "is not known"),
    ])
    func `an unknown key is refused with a near key or all known keys`(_ key: String, _ text: String) throws {
        let error = try refusal([key: "1"])
        #expect(error.key == key)
        #expect(error.problem.contains(text), "\(error)")
    }

    @Test func `an unknown key of a destination is refused`() throws {
        let misspelt = ["destination.a.origin": "https://a", "destination.a.maxrate": "2Mbit"]
        #expect(
            try refusal(misspelt, lists: ["destinations": ["a"]]).problem.contains("is it “destination.a.maxRate”?"))
        let values = ["destination.a.origin": "https://a", "destination.a.colour": "red"]
        let error = try refusal(values, lists: ["destinations": ["a"]])
        #expect(error.key == "destination.a.colour")
        #expect(error.problem.contains("backgroundHours, burst, maxConcurrency, maxRate, origin, starts"), "\(error)")
    }

    @Test func `the environment overrides the file`() throws {
        let variables = [
            "SLUICE_NETWORK_MAX_TRANSFERS": "9", "SLUICE_NETWORK_LEVEL_POOR_UTILITY": "pause",
            "SLUICE_DESTINATIONS": "a, b", "SLUICE_DESTINATION_A_ORIGIN": "https://a",
            "SLUICE_DESTINATION_B_ORIGIN": "https://b", "SLUICE_DESTINATION_B_MAX_RATE": "1MB",
        ]
        var reader = try SettingsReader(["network.maxTransfers": "8", "network.floor": "6"], variables: variables)
        let policy = try NetworkPolicy(reading: &reader)
        #expect(policy.globalLimit == 9)
        #expect(policy.floorPercent == 6)
        #expect(policy.poor[.utility] == .pause)
        #expect(policy.destinations[Destination(scheme: "https", host: "b", port: 443)]?.maxRate == 1_000_000)
    }

    // MARK: The example

    private func read(yaml: String) throws -> NetworkPolicy {
        var reader = try SettingsReader(yaml: yaml)
        return try NetworkPolicy(reading: &reader)
    }

    private var example: String {
        get throws {
            let repository = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
            let bytes = try #require(contents(of: "/\(repository)/deploy/sluice.example.yaml"))
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    @Test func `the example configuration has the default values`() throws {
        #expect(try read(yaml: try example) == NetworkPolicy())
    }

    @Test func `the commented lines of the example are valid`() throws {
        let lines = try example.split(separator: "\n").map { line in
            line.hasPrefix("# ") && !line.hasPrefix("#  ") ? "" : line.hasPrefix("#") ? line.dropFirst() : line
        }
        let policy = try read(yaml: lines.joined(separator: "\n"))
        #expect(policy.fixedConcurrency == 8)
        #expect(
            policy.destinations[Destination(scheme: "https", host: "media.example.com", port: 443)]
                == DestinationLimits(
                    maxConcurrency: 6, maxRate: 2_500_000, starts: StartRate(text: "100/min"), burst: 10))
        #expect(
            policy.destinations[Destination(scheme: "https", host: "office.example.com", port: 8443)]?.backgroundHours
                == AllowedHours(from: 22 * 60, to: 6 * 60))
    }
}

import Configuration
import Settings
import Testing

@Suite struct SettingsReaderTests {
    private func reader(_ values: [String: ConfigContent]) -> SettingsReader {
        let pairs = values.map { name, content in
            (AbsoluteConfigKey(name.split(separator: ".").map(String.init)), ConfigValue(content, isSecret: false))
        }
        return SettingsReader(ConfigReader(provider: InMemoryProvider(values: Dictionary(uniqueKeysWithValues: pairs))))
    }

    @Test func `a missing key leaves the default`() throws {
        var reader = reader([:])
        var count = 7
        try reader.read(&count, ["a", "count"])
        #expect(count == 7)
        #expect(try reader.text(["a", "text"]) == nil)
        #expect(try reader.list(["names"]).isEmpty)
    }

    @Test func `every kind of value is read`() throws {
        var reader = reader([
            "count": .string("12"), "flag": .string("Off"), "wait": .string("2.5"), "factor": .string("1.3"),
            "share": .string("20%"), "plain": .string("0.2"), "percent": .string("5%"),
            "names": .stringArray(["a", "b"]), "none": .stringArray([""]),
        ])
        var (count, flag, wait, factor) = (0, true, Duration.zero, 0.0)
        var (share, plain, percent) = (0.0, 0.0, 0)
        try reader.read(&count, ["count"])
        try reader.read(&flag, ["flag"])
        try reader.read(&wait, ["wait"])
        try reader.read(&factor, ["factor"])
        try reader.readShare(&share, ["share"])
        try reader.readShare(&plain, ["plain"])
        try reader.readPercent(&percent, ["percent"])
        #expect(count == 12 && !flag && wait == .milliseconds(2500) && factor == 1.3)
        #expect(share == 0.2 && plain == 0.2 && percent == 5)
        #expect(try reader.list(["names"]) == ["a", "b"])
        #expect(try reader.list(["none"]).isEmpty, "as an empty variable has it")
    }

    @Test(arguments: ["", "many", "1.5", "99999999999999999999", "30s"])
    func `a value that is none is refused by its key, and never replaced by the default`(_ text: String) {
        var reader = reader(["a.count": .string(text)])
        var count = 7
        let error = #expect(throws: SettingsError.self) { try reader.read(&count, ["a", "count"]) }
        #expect(error == SettingsError(key: "a.count", problem: "takes a whole number, not “\(text)”"))
        #expect(count == 7)
    }

    /// Other readers of times: payloads of exec, fetch, request and sync, the `cpu` of a program, and the options.
    @Test(arguments: [("10s", 10_000), ("1h30m", 5_400_000), ("500ms", 500), ("2.5", 2500), ("7d", 604_800_000)])
    func `a time has a unit, or is seconds`(_ text: String, _ milliseconds: Int64) throws {
        var reader = reader(["wait": .string(text)])
        var wait = Duration.seconds(1)
        try reader.read(&wait, ["wait"])
        #expect(wait == .milliseconds(milliseconds))
    }

    @Test func `an empty section is known by its keys`() throws {
        try experienced().refuseUnknown([], emptySections: ["network"])
        let error = #expect(throws: SettingsError.self) {
            try experienced().refuseUnknown([], emptySections: ["netwrok"])
        }
        #expect(error?.problem == "is not known; is it “network”?")
    }

    @Test(arguments: ["nan", "-1", "1e300", "soon", "10 s", "5x"])
    func `seconds are a number that a clock can wait for`(_ text: String) {
        var reader = reader(["wait": .string(text)])
        var wait = Duration.seconds(1)
        #expect(throws: SettingsError.self) { try reader.read(&wait, ["wait"]) }
    }

    @Test func `a list is not read as a value, nor a value as a list`() throws {
        var reader = reader(["a.floor": .stringArray(["5"]), "names": .string("media")])
        var floor = 0
        #expect(#expect(throws: SettingsError.self) { try reader.read(&floor, ["a", "floor"]) }?.key == "a.floor")
        let error = #expect(throws: SettingsError.self) { try reader.list(["names"]) }
        #expect(error == SettingsError(key: "names", problem: "takes a list such as [media]"))
    }

    /// A reader that has read every key that the file may have.
    private func experienced() throws -> SettingsReader {
        var reader = reader(["destinations": .stringArray(["media"])])
        for name in try reader.list(["destinations"]) { _ = try reader.text(["destination", name, "origin"]) }
        _ = try reader.list(["credentials"])
        _ = try reader.text(["network", "maxTransfers"])
        _ = try reader.text(["network", "floor"])
        return reader
    }

    @Test func `a key that was read is known, present or not`() throws {
        let reader = try experienced()
        try reader.refuseUnknown(["network.floor", "destination.media.origin", "destinations", "credentials"])
        try reader.refuseUnknown(
            variables: ["SLUICE_NETWORK_MAX_TRANSFERS", "SLUICE_DATA", "SLUICE_DESTINATIONS", "PATH"],
            of: ["network", "destination"])
    }

    @Test(arguments: [
        ("netwrk.floor", "is not known; is it “network.floor”?"),
        ("netwrok.unknown", "is not known; is it a key of “network”? There are floor, maxTransfers"),
        ("network.flor", "is not known; is it “network.floor”?"),
        ("network.floor.percent", "is not known; there are floor, maxTransfers"),
        ("destination.media.orign", "is not known; is it “destination.media.origin”?"),
        ("destination.other.origin", "its section has a name that is not in the list destinations"),
        ("credential.media.bearerFile", "its section has a name that is not in the list credentials"),
        ("", "is not known; there are credentials, destination, destinations, network"),
    ])
    func `an unknown key is refused, with the known ones`(_ key: String, _ problem: String) throws {
        let reader = try experienced()
        let error = #expect(throws: SettingsError.self) { try reader.refuseUnknown(["network.floor", key]) }
        #expect(error == SettingsError(key: key, problem: problem))
    }

    @Test func `the first unknown key is explained, and the others are named`() throws {
        let error = #expect(throws: SettingsError.self) {
            try experienced().refuseUnknown(["worker.concurency", "network.floor", "network.flor", "x"])
        }
        let problem = "is not known; is it “network.floor”? Not known either: worker.concurency, x"
        #expect(error == SettingsError(key: "network.flor", problem: problem))
    }

    @Test(arguments: [
        ("SLUICE_NETWORK_FLOR", "is it SLUICE_NETWORK_FLOOR?"), ("SLUICE_NETWROK_FLOOR", "is it SLUICE_NETWORK_FLOOR?"),
        ("SLUICE_NETWORK_MAXTRANSFERS", "is it SLUICE_NETWORK_MAX_TRANSFERS?"), ("SLUICE_DTAA", "is it SLUICE_DATA?"),
        ("SLUICE_DESTINATION_A_MAX_RATE", "SLUICE_NETWORK_MAX_TRANSFERS"),
    ])
    func `an unknown variable is refused by its name, with the one that is meant`(_ name: String, _ hint: String) throws
    {
        let reader = try experienced()
        let error = #expect(throws: SettingsError.self) {
            try reader.refuseUnknown(
                variables: ["SLUICE_NETWORK_FLOOR", "SLUICE_DATA", "SLUICE_OTHER", name],
                of: ["network", "destination"],
                others: ["SLUICE_DATA"])
        }
        #expect(error?.key == name)
        #expect(error?.problem.contains(hint) == true)
    }
}

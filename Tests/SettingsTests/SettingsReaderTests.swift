import Commands
import Settings
import TestSupport
import Testing

@Suite struct SettingsReaderTests {
    @Test func `a missing key leaves the default`() throws {
        var reader = try SettingsReader([:])
        var count = 7
        try reader.read(&count, ["a", "count"])
        #expect(count == 7)
        #expect(try reader.text(["a", "text"]) == nil)
        #expect(try reader.list(["names"]).isEmpty)
    }

    @Test func `every kind of value is read`() throws {
        var reader = try SettingsReader([
            "count": .string("12"), "flag": .string("Off"), "wait": .string("2.5"), "factor": .string("1.3"),
            "share": .string("20%"), "plain": .string("0.2"), "percent": .string("5%"),
            "names": ["a", "b"], "none": [""],
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
    func `a value that is none is refused by its key, and never replaced by the default`(_ text: String) throws {
        var reader = try SettingsReader(["a.count": .string(text)])
        var count = 7
        let error = #expect(throws: SettingsError.self) { try reader.read(&count, ["a", "count"]) }
        #expect(error == SettingsError(key: "a.count", problem: "takes a whole number, not “\(text)”"))
        #expect(count == 7)
    }

    /// Other readers of times: payloads of exec, fetch, request and sync, the `cpu` of a program, and the options.
    @Test(arguments: [("10s", 10_000), ("1h30m", 5_400_000), ("500ms", 500), ("2.5", 2500), ("7d", 604_800_000)])
    func `a time has a unit, or is seconds`(_ text: String, _ milliseconds: Int64) throws {
        var reader = try SettingsReader(["wait": .string(text)])
        var wait = Duration.seconds(1)
        try reader.read(&wait, ["wait"])
        #expect(wait == .milliseconds(milliseconds))
    }

    @Test func `an empty section is known by its keys`() throws {
        try experienced(["network": ""]).refuseUnknown()
        let error = #expect(throws: SettingsError.self) { try experienced(["netwrok": ""]).refuseUnknown() }
        #expect(error?.problem == "is not known; is it “network”?")
    }

    @Test(arguments: ["nan", "-1", "1e300", "soon", "10 s", "5x"])
    func `seconds are a number that a clock can wait for`(_ text: String) throws {
        var reader = try SettingsReader(["wait": .string(text)])
        var wait = Duration.seconds(1)
        #expect(throws: SettingsError.self) { try reader.read(&wait, ["wait"]) }
    }

    @Test func `a list is not read as a value, nor a value as a list`() throws {
        var reader = try SettingsReader(["a.floor": ["5"], "names": .string("media")])
        var floor = 0
        #expect(#expect(throws: SettingsError.self) { try reader.read(&floor, ["a", "floor"]) }?.key == "a.floor")
        let error = #expect(throws: SettingsError.self) { try reader.list(["names"]) }
        #expect(error == SettingsError(key: "names", problem: "takes a list such as [media]"))
    }

    /// A reader that has read every key that the file may have.
    private func experienced(_ others: [String: JSONValue] = [:]) throws -> SettingsReader {
        var reader = try SettingsReader(others.merging(["destinations": ["media"]]) { $1 })
        for name in try reader.list(["destinations"]) { _ = try reader.text(["destination", name, "origin"]) }
        _ = try reader.list(["credentials"])
        _ = try reader.text(["network", "maxTransfers"])
        _ = try reader.text(["network", "floor"])
        return reader
    }

    @Test func `a key that was read is known, present or not`() throws {
        let reader = try experienced(["network.floor": 5, "destination.media.origin": "a", "credentials": ["media"]])
        try reader.refuseUnknown()
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
        let reader = try experienced([key: 1])
        let error = #expect(throws: SettingsError.self) { try reader.refuseUnknown() }
        #expect(error == SettingsError(key: key, problem: problem))
    }

    @Test func `the first unknown key is explained, and the others are named`() throws {
        let error = #expect(throws: SettingsError.self) {
            try experienced(["worker.concurency": 1, "network.floor": 2, "network.flor": 3, "x": 4]).refuseUnknown()
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

    // MARK: The file and the environment

    /// A value of every kind, and sections that others read.
    private static let settings = """
        plain: some text # a comment
        quoted: 'it''s # no comment'
        digits: 0123
        fraction: 1.50
        flag: TRUE
        word: null
        none: ~
        empty:
        folded: >-
          two
          lines
        anchored: &a 007
        alias: *a
        names: [01, "b c", ~, '', on]
        block:
        - 1.0
        - x
        noNames: []
        section: {time: 1h30m, "q": {origin: "https://h"}}
        """
    private static let others = """

        schedules: {a.b: {cron: "* * * * *", command: [[1]]}}
        routes: {archive: {command: {type: upload}}}
        store: {url: "postgres://db/queue"}
        """

    @Test func `a file reads the same settings with and without the sections of others`() throws {
        let paths = [
            "plain", "quoted", "digits", "fraction", "flag", "word", "none", "empty", "folded", "anchored", "alias",
            "names", "block", "noNames", "section", "section.time", "section.q.origin", "absent",
        ].map { $0.split(separator: ".").map(String.init) }
        func read(_ yaml: String) throws -> [SettingsReader.TextOrList?] {
            var reader = try SettingsReader(yaml: yaml, without: ["schedules", "routes", "store"])
            let values = try paths.map { try reader.textOrList($0) }
            try reader.refuseUnknown()
            return values
        }
        let values = try read(Self.settings)
        #expect(
            values == [
                .text("some text"), .text("it's # no comment"), .text("0123"), .text("1.50"), .text("TRUE"),
                .text("null"),
                .text(""), .text(""), .text("two lines"), .text("007"), .text("007"), .list(["01", "b c", "on"]),
                .list(["1.0", "x"]), .list([]), nil, .text("1h30m"), .text("https://h"), nil,
            ])
        #expect(try read(Self.settings + Self.others) == values)
        #expect(throws: SettingsError.self) { try SettingsReader(yaml: Self.others).refuseUnknown() }
    }

    @Test func `a file in braces is read, and one with only comments has the defaults`() throws {
        var flow = try SettingsReader(yaml: "{network: {floor: 05}, # a comment\n names: [a, b]}")
        #expect(try flow.text(["network", "floor"]) == "05" && flow.list(["names"]) == ["a", "b"])
        var comments = try SettingsReader(yaml: "# network: {floor: 5}\n")
        #expect(try comments.text(["network", "floor"]) == nil)
        try comments.refuseUnknown()
    }

    @Test func `a variable lies over the file, and its lists are separated by commas`() throws {
        var reader = try SettingsReader(
            yaml: "network: {maxTransfers: 3, floor: 5}\nnames: [a]\nothers: [b]\nwords: [c]",
            variables: [
                "SLUICE_NETWORK_MAX_TRANSFERS": " 4", "SLUICE_NAMES": " x, y z ,, \t,w", "SLUICE_OTHERS": "",
                "SLUICE_WORDS": "true", "NETWORK_FLOOR": "9", "SLUICE_DESTINATION_A_B_MAX_RATE2": "7",
            ])
        #expect(try reader.text(["network", "maxTransfers"]) == " 4" && reader.text(["network", "floor"]) == "5")
        #expect(try reader.list(["names"]) == ["x", "y z", "w"] && reader.list(["others"]).isEmpty)
        #expect(try reader.text(["others"]) == "" && reader.textOrList(["words"]) == .list(["true"]))
        #expect(try reader.text(["destination", "a.b", "maxRate2"]) == "7")
    }

    /// Reads the keys of ``experienced(_:)`` and a number.
    private func refusal(_ yaml: String, _ variables: [String: String] = [:]) throws -> String? {
        var reader = try SettingsReader(yaml: yaml, variables: variables)
        do throws(SettingsError) {
            for name in try reader.list(["destinations"]) where try reader.text(["destination", name, "origin"]) == nil
            {
                throw SettingsError(key: "destination.\(name).origin", problem: "is missing")
            }
            var count = 0
            try reader.read(&count, ["network", "maxTransfers"])
            _ = try reader.text(["network", "floor"])
            try reader.refuseUnknown()
            return nil
        } catch {
            return "\(reader.locating(error))"
        }
    }

    @Test(arguments: [
        ("network:\n  maxTransfers: x", "network.maxTransfers: takes a whole number, not “x” (sluice.yaml:2:17)"),
        ("network:\n  flor: 5", "network.flor: is not known; is it “network.floor”? (sluice.yaml:2:3)"),
        ("\nnetwrok:", "netwrok: is not known; is it “network”? (sluice.yaml:2:1)"),
        ("network: {floor: [5]}", "network.floor: takes one value, not a list (sluice.yaml:1:18)"),
        ("destinations: media", "destinations: takes a list such as [media] (sluice.yaml:1:15)"),
        ("destinations: [[a]]", "destinations: takes a list of plain values (sluice.yaml:1:15)"),
        ("destinations: [a]", "destination.a.origin: is missing"),
        (
            "destinations: [a.b]\ndestination:\n  a.b: {}",
            "destination.a.b.origin: is missing (sluice.yaml:3:3)"
        ),
        (
            "network.floor: 5",
            "network.floor: is not known, because its name has a dot; write “floor” inside of the section “network” "
                + "(sluice.yaml:1:1)"
        ),
    ])
    func `an error has the position of its value, or of its key`(_ yaml: String, _ sentence: String) throws {
        #expect(try refusal(yaml) == "configuration: \(sentence)")
    }

    @Test func `an error of a variable names it in place of a position`() throws {
        #expect(
            try refusal("network: {maxTransfers: 3}", ["SLUICE_NETWORK_MAX_TRANSFERS": "x"])
                == "configuration: network.maxTransfers: takes a whole number, not “x” (SLUICE_NETWORK_MAX_TRANSFERS)")
    }
}

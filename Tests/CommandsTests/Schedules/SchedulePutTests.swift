import Commands
import Testing

struct SchedulePutTests {
    private func put(_ text: String, name: String? = nil) throws -> SchedulePut {
        try SchedulePut(JSONValue(parsing: text.utf8), name: name)
    }

    @Test func `the defaults stand in the stored form`() throws {
        let put = try put(#"{"cron":"30 2 * * *","command":{"type":"noop"}}"#, name: "nightly")
        #expect(put.paused == nil)
        #expect(
            put.definition.json.text == #"{"name":"nightly","cron":"30 2 * * *","zone":"UTC","missed":"one","#
                + #""overlap":"skip","jitter":"0s","grace":"1m","command":{"type":"noop"}}"#)
    }

    @Test func `a put reads all keys, and the stored form is read back`() throws {
        let put = try put(
            #"{"name":"Quotes_1.a-b","expression":"@every 10m","zone":"Europe/Berlin","missed":"all:7","#
                + #""overlap":"queue","jitter":"1h30m","grace":90,"paused":true,"flow":{"nodes":{}}}"#)
        #expect(put.paused == true)
        let definition = put.definition
        #expect(definition.missed == .all(7) && definition.overlap == .queue)
        #expect(definition.jitter == .seconds(5400) && definition.grace == .seconds(90))
        #expect(definition.body == .flow(["nodes": .object([])]))
        #expect(definition.laneKey == "schedule:Quotes_1.a-b")
        #expect(try SchedulePut(definition.json).definition == definition)
    }

    @Test func `definitions with other forms of the same values are equal`() throws {
        let one = try put(#"{"name":"a","cron":"@daily","jitter":"60s","grace":"1m","command":{"type":"noop"}}"#)
        let two = try put(#"{"command":{"type":"noop"},"expression":"@daily","jitter":60,"name":"a"}"#)
        #expect(one == two)
        let other = try put(#"{"name":"a","cron":"@daily","jitter":60,"command":{"type":"noop","payload":{}}}"#)
        #expect(one != other && one.definition.hasSameTimes(as: other.definition))
    }

    @Test(arguments: [
        (#"[]"#, "a schedule: it is an array and must be an object"),
        (
            #"{"cron":"@daily","command":{"type":"noop"}}"#,
            "a schedule, key “name”: it is missing; give the schedule a name"
        ),
        (
            #"{"name":"a b","cron":"@daily","command":{"type":"noop"}}"#,
            "schedule “a b”, key “name”: use 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-” for the name"
        ),
        (
            #"{"command":{"type":"noop"},"crom":"@daily","name":"a"}"#,
            "schedule “a”, key “crom”: the key is unknown; is it “cron”?"
        ),
        (
            #"{"name":"a","timeout":1}"#,
            "schedule “a”, key “timeout”: the key is unknown; a schedule has name, cron, expression, zone, missed, "
                + "overlap, jitter, grace, paused, command, flow"
        ),
        (
            #"{"name":"a","command":{"type":"noop"}}"#,
            "schedule “a”, key “cron”: it is missing; write for example “30 2 * * *” for 02:30 each day"
        ),
        (
            #"{"name":"a","cron":"@daily"}"#,
            "schedule “a”, key “command”: it is missing; write a “command” with its type, or a “flow”"
        ),
        (
            #"{"name":"a","cron":"@daily","expression":"@daily","command":{"type":"noop"}}"#,
            "schedule “a”, key “expression”: “cron” and “expression” mean the same; remove one of the two"
        ),
        (
            #"{"name":"a","cron":"@daily","command":{"type":"noop"},"flow":{}}"#,
            "schedule “a”, key “flow”: a schedule has a “command” or a “flow”, not both"
        ),
        (
            #"{"name":"a","cron":5}"#,
            "schedule “a”, key “cron”: it is a number and must be a string: an expression, for example “30 2 * * *”"
        ),
        (
            #"{"name":"a","missed":"all:0"}"#,
            "schedule “a”, key “missed”: it is “all:0” and must be “one”, “skip”, or “all:N” with N from 1 to 1000"
        ),
        (
            #"{"name":"a","overlap":"kill"}"#,
            "schedule “a”, key “overlap”: it is “kill” and must be “skip”, “queue”, “cancel” or “allow”"
        ),
        (
            #"{"name":"a","jitter":-1}"#,
            "schedule “a”, key “jitter”: it is -1 and must be a time such as 30s, 10m, 2h or 1h30m"
        ),
        (
            #"{"name":"a","cron":"@daily","grace":"0s","command":{"type":"noop"}}"#,
            "schedule “a”, key “grace”: it must be from 1s to 365d"
        ),
        (#"{"name":"a","paused":1}"#, "schedule “a”, key “paused”: it is a number and must be true or false"),
        (
            #"{"name":"a","cron":"@daily","command":{"type":"noop","uniqueKey":"k"}}"#,
            "schedule “a”, key “command”: remove “uniqueKey”: the schedule sets it at each of its times"
        ),
        (
            #"{"name":"a","cron":"@daily","zone":"","command":{"type":"noop"}}"#,
            "schedule “a”, key “zone”: it is empty; write an IANA name, for example “Europe/Berlin”"
        ),
    ])
    func `an error names the schedule, the key and the remedy`(_ text: String, _ expected: String) throws {
        let error = #expect(throws: ScheduleError.self) { try put(text) }
        #expect(error?.description == expected)
    }

    @Test func `an expression that never fires is refused with its position`() throws {
        let error = #expect(throws: ScheduleError.self) {
            try put(#"{"name":"a","cron":"0 0 31 4 *","command":{"type":"noop"}}"#)
        }
        #expect(error?.key == "cron")
        #expect(error?.problem.hasPrefix("cron expression “0 0 31 4 *”, byte 5: ") == true)
    }

    @Test(arguments: ["one", "skip", "all:1", "all:1000"])
    func `a policy for missed times reads the form that it prints`(_ text: String) {
        #expect(MissedPolicy(text: text)?.description == text)
    }

    @Test(arguments: ["", "ONE", "all", "all:", "all:0", "all:1001", "all:+5", "all: 5", "all:99999999999999999999"])
    func `another text is not a policy for missed times`(_ text: String) { #expect(MissedPolicy(text: text) == nil) }

    @Test(arguments: ["skip", "queue", "cancel", "allow"])
    func `a policy for overlaps reads the form that it prints`(_ text: String) {
        #expect(OverlapPolicy(text: text)?.description == text)
    }

    @Test func `a unique key names the schedule and the nominal time`() throws {
        let definition = try put(#"{"name":"n","cron":"@daily","command":{"type":"noop"}}"#).definition
        func key(_ milliseconds: Int64) -> String { definition.uniqueKey(of: Timestamp(milliseconds: milliseconds)) }
        #expect(key(1_774_746_000_000) == "schedule:n@2026-03-29T01:00:00Z")
        #expect(key(1_774_746_000_250) == "schedule:n@2026-03-29T01:00:00.250Z")
        // Beyond the year 9999 two times do not share a key.
        #expect(key(253_402_300_800_000) == "schedule:n@253402300800000ms")
        #expect(key(.max) != key(.max - 1000))
    }

    @Test(arguments: ["1x", "h", "1h30", "1.5h", "-1s", "1 h", "99999999999999d", "999999999999999999999s", "١s"])
    func `another text is not a duration`(_ text: String) throws {
        #expect(throws: ScheduleError.self) {
            try SchedulePut(["name": "a", "cron": "@daily", "command": ["type": "noop"], "jitter": .string(text)])
        }
    }

    private static let policies: [(MissedPolicy, OverlapPolicy, String?)] = [
        (.all(5), .skip, "only the oldest"), (.all(5), .queue, "only the two oldest"),
        (.all(5), .cancel, "only the newest"), (.all(5), .allow, nil), (.all(1), .skip, nil), (.one, .skip, nil),
        (.skip, .skip, nil),
    ]

    @Test(arguments: policies)
    func `a remark says that the policy for overlaps drops missed times`(
        _ missed: MissedPolicy, _ overlap: OverlapPolicy, _ words: String?
    ) throws {
        let remark = try ScheduleCases.timing("0 * * * *", missed: missed, overlap: overlap).definition.remark
        #expect((remark == nil) == (words == nil))
        if let words { #expect(remark?.contains(words) == true, "\(remark ?? "")") }
    }
}

import Commands
import Testing

/// Tables of well-known changes of time zones.
@Suite(.enabled(if: MachineZones.isInstalled, "tzdata is not installed; deploy/prepare test installs it"))
struct CronTableTests {
    /// The times of an expression from `start` on and before `end`, in RFC 3339 without seconds and date where the
    /// date is the one of `start`.
    private func times(_ text: String, _ zone: String, _ start: String, _ end: String) throws -> [String] {
        let expression = try CronExpression(parsing: text)
        let zone = try TimeZoneDatabase.system.zone(named: zone)
        let first = try #require(Timestamp(rfc3339: "\(start):00Z"))
        let last = try #require(Timestamp(rfc3339: "\(end):00Z"))
        let forwards = sequence(
            first: first + .milliseconds(-1), next: { expression.next(after: $0, in: zone) })
        let found = Array(forwards.dropFirst().prefix { $0 < last })
        let backwards = sequence(first: last, next: { expression.previous(before: $0, in: zone) })
        #expect(Array(backwards.dropFirst().prefix { $0 >= first }).reversed() == found)
        return found.map { String($0.description.prefix(16)) }
    }

    @Test(arguments: [
        // The clock is put forward from 02:00 to 03:00 on 2026-03-29 at 01:00Z.
        ("30 2 * * *", ["2026-03-29T01:00", "2026-03-30T00:30"]),
        ("0 2 * * *", ["2026-03-29T01:00", "2026-03-30T00:00"]),
        ("0 2,3 * * *", ["2026-03-29T01:00", "2026-03-30T00:00", "2026-03-30T01:00"]),
        ("15,30,45 2 29 3 *", ["2026-03-29T01:00"]),
        (
            "0 */2 29 3 *",
            [
                "2026-03-28T23:00", "2026-03-29T02:00", "2026-03-29T04:00", "2026-03-29T06:00",
                "2026-03-29T08:00", "2026-03-29T10:00", "2026-03-29T12:00", "2026-03-29T14:00", "2026-03-29T16:00",
                "2026-03-29T18:00", "2026-03-29T20:00",
            ]
        ),
        ("*/30 2 * * *", ["2026-03-30T00:00", "2026-03-30T00:30"]),
        ("*/30 1-3 29 3 *", ["2026-03-29T00:00", "2026-03-29T00:30", "2026-03-29T01:00", "2026-03-29T01:30"]),
    ])
    func `Berlin in spring`(_ text: String, _ expected: [String]) throws {
        #expect(try times(text, "Europe/Berlin", "2026-03-28T12:00", "2026-03-30T12:00") == expected)
    }

    @Test(arguments: [
        // The clock is put back from 03:00 to 02:00 on 2026-10-25 at 01:00Z.
        ("30 2 * * *", ["2026-10-25T00:30"]),
        ("0 3 * * *", ["2026-10-25T02:00"]),
        (
            "*/15 2 * * *",
            [
                "2026-10-25T00:00", "2026-10-25T00:15", "2026-10-25T00:30", "2026-10-25T00:45",
                "2026-10-25T01:00", "2026-10-25T01:15", "2026-10-25T01:30", "2026-10-25T01:45",
            ]
        ),
        ("*/30 2 * * *", ["2026-10-25T00:00", "2026-10-25T00:30", "2026-10-25T01:00", "2026-10-25T01:30"]),
        ("0 */2 * * *", ["2026-10-25T00:00", "2026-10-25T01:00"]),
        ("@hourly", ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"]),
        ("@every 45m", ["2026-10-25T00:00", "2026-10-25T00:45", "2026-10-25T01:30", "2026-10-25T02:15"]),
    ])
    func `Berlin in autumn`(_ text: String, _ expected: [String]) throws {
        #expect(try times(text, "Europe/Berlin", "2026-10-25T00:00", "2026-10-25T02:30") == expected)
    }

    @Test(arguments: [
        // 2026-10-04 02:00 → 02:30 at 2026-10-03T15:30Z; 2026-04-05 02:00 → 01:30 at 2026-04-04T15:00Z.
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00", "2026-10-04T12:00", ["2026-10-03T15:30"]),
        (
            "Australia/Lord_Howe", "*/15 2 * * *", "2026-10-03T12:00", "2026-10-04T12:00",
            ["2026-10-03T15:30", "2026-10-03T15:45"]
        ),
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00", "2026-04-05T12:00", ["2026-04-04T14:45"]),
        (
            "Australia/Lord_Howe", "*/15 1 * * *", "2026-04-04T12:00", "2026-04-05T12:00",
            [
                "2026-04-04T14:00", "2026-04-04T14:15", "2026-04-04T14:30", "2026-04-04T14:45", "2026-04-04T15:00",
                "2026-04-04T15:15",
            ]
        ),
        // Ramadan 2026: 2026-02-15 03:00 → 02:00 at 02:00Z, and 2026-03-22 02:00 → 03:00 at 02:00Z.
        ("Africa/Casablanca", "30 2 * * *", "2026-02-14T12:00", "2026-02-15T12:00", ["2026-02-15T01:30"]),
        ("Africa/Casablanca", "30 2 * * *", "2026-03-21T12:00", "2026-03-22T12:00", ["2026-03-22T02:00"]),
        // 2018-11-04 00:00 → 01:00 at 03:00Z.
        (
            "America/Sao_Paulo", "0 0 * * *", "2018-11-03T12:00", "2018-11-05T12:00",
            ["2018-11-04T03:00", "2018-11-05T02:00"]
        ),
        (
            "America/Sao_Paulo", "*/30 0 * * *", "2018-11-03T12:00", "2018-11-05T12:00",
            ["2018-11-05T02:00", "2018-11-05T02:30"]
        ),
        ("America/Sao_Paulo", "@daily", "2018-11-04T03:00", "2018-11-04T12:00", ["2018-11-04T03:00"]),
        // Winter is the exception in Ireland: 2026-03-29 01:00 → 02:00 at 01:00Z, 2026-10-25 02:00 → 01:00 at 01:00Z.
        ("Europe/Dublin", "30 1 * * *", "2026-03-28T12:00", "2026-03-29T12:00", ["2026-03-29T01:00"]),
        ("Europe/Dublin", "30 1 * * *", "2026-10-24T12:00", "2026-10-25T12:00", ["2026-10-25T00:30"]),
        ("Europe/Dublin", "30 1 * * *", "2090-03-25T12:00", "2090-03-26T12:00", ["2090-03-26T01:00"]),
        // Samoa left out 2011-12-30, a change of 24 hours: a correction.
        (
            "Pacific/Apia", "0 9 * * *", "2011-12-29T12:00", "2011-12-31T12:00",
            ["2011-12-29T19:00", "2011-12-30T19:00"]
        ),
        ("Pacific/Apia", "0 0 30 * *", "2011-12-01T00:00", "2012-02-01T00:00", ["2012-01-29T10:00"]),
        // 2010-03-05 02:00 → 2010-03-04 23:00 at 15:00Z, three hours: a correction, and both passes count.
        (
            "Antarctica/Casey", "0 1 * * *", "2010-03-04T00:00", "2010-03-05T00:00",
            ["2010-03-04T14:00", "2010-03-04T17:00"]
        ),
    ])
    func `other zones`(_ zone: String, _ text: String, _ start: String, _ end: String, _ expected: [String]) throws {
        #expect(try times(text, zone, start, end) == expected)
    }

    @Test func `29 February comes in leap years only`() throws {
        let expected = ["2088-02-29T00:00", "2092-02-29T00:00", "2096-02-29T00:00", "2104-02-29T00:00"]
        #expect(try times("0 0 29 2 *", "UTC", "2087-01-01T00:00", "2107-01-01T00:00") == expected)
        #expect(
            try times("0 0 29 2 */7", "UTC", "2060-03-01T00:00", "2129-01-01T00:00") == [
                "2088-02-29T00:00", "2128-02-29T00:00",
            ])
    }

    @Test(arguments: [
        ("0 0 * * 2#3", ["2026-03-17T00:00"]), ("0 0 * * 5L", ["2026-03-27T00:00"]),
        ("0 0 L * ?", ["2026-03-31T00:00"]),
        ("0 0 ? * 7#1", ["2026-03-01T00:00"]), ("0 0 1 * MON#1", ["2026-03-01T00:00", "2026-03-02T00:00"]),
        ("0 0 */10 * SUN", ["2026-03-01T00:00"]), ("0 0 20-L * *", []), ("15 10 31 MAR-apr *", ["2026-03-31T10:15"]),
        ("0 22/5 2 * *", ["2026-03-02T22:00"]), ("59 59 23 28 * *", ["2026-03-28T23:59"]),
        ("@monthly", ["2026-03-01T00:00"]),
        (
            "@WEEKLY",
            [
                "2026-03-01T00:00", "2026-03-08T00:00", "2026-03-15T00:00",
                "2026-03-22T00:00", "2026-03-29T00:00",
            ]
        ),
    ])
    func `days of March 2026`(_ text: String, _ expected: [String]) throws {
        guard !expected.isEmpty else {
            #expect(throws: CronExpressionError.self) { try CronExpression(parsing: text) }
            return
        }
        #expect(try times(text, "UTC", "2026-03-01T00:00", "2026-04-01T00:00") == expected)
    }
}

import Commands
import TestSupport
import Testing

@Suite(.enabled(if: MachineZones.isInstalled, "tzdata is not installed; deploy/prepare test installs it"))
struct CronCountTests {
    private static let expressions = [
        "* * * * *", "*/15 * * * *", "30 2 * * *", "0 2,3 * * *", "15,45 1-3 * * 0", "*/7 2 * * *", "0 */2 29 2 *",
        "0 0 L * *", "0 12 * * 2#3", "*/20 30 1 * * *", "5 30 2 * * 7", "@every 45m", "@every 7s",
    ]
    private static let zones = [
        "UTC", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "America/Sao_Paulo", "Pacific/Apia",
    ]

    @Test func `a count equals the number of steps from time to time`() throws {
        var random = SeededRandom.announced("CronCountTests")
        for _ in 0..<150 {
            let expression = try CronExpression(parsing: Self.expressions.randomElement(using: &random)!)
            let zone = try TimeZoneDatabase.system.zone(named: Self.zones.randomElement(using: &random)!)
            let start = Timestamp(milliseconds: Int64.random(in: 1_200_000_000_000...1_900_000_000_000, using: &random))
            var (time, steps) = (start, 0)
            while steps < random.number(in: 1..<400), let next = expression.next(after: time, in: zone) {
                (time, steps) = (next, steps + 1)
            }
            let count = expression.count(after: start, through: time, in: zone)
            #expect(count == steps, "\(expression) in \(zone.name) after \(start)")
            let early = time + .milliseconds(-1)
            #expect(expression.count(after: start, through: early, in: zone) == steps - 1)
        }
    }

    @Test(arguments: [
        ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "30 2 * * *", 1),
        ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "0 2,3 * * *", 1),
        ("2026-03-28T22:59:00Z", "2026-03-29T21:59:00Z", "*/15 * * * *", 92),
        ("2026-10-24T21:59:00Z", "2026-10-25T22:59:00Z", "*/15 * * * *", 100),
        ("2026-10-24T21:59:00Z", "2026-10-25T22:59:00Z", "30 2 * * *", 1),
    ])
    func `a count follows the rules of a day of daylight saving`(
        _ start: String, _ end: String, _ text: String, _ expected: Int
    ) throws {
        let zone = try TimeZoneDatabase.system.zone(named: "Europe/Berlin")
        let start = try #require(Timestamp(rfc3339: start))
        let end = try #require(Timestamp(rfc3339: end))
        #expect(try CronExpression(parsing: text).count(after: start, through: end, in: zone) == expected)
    }

    @Test func `a count of absurd times does not trap`() throws {
        let ends = [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max].map { Timestamp(milliseconds: $0) }
        for text in Self.expressions {
            for start in ends {
                for end in ends {
                    let count = try CronExpression(parsing: text).count(after: start, through: end, in: .utc)
                    #expect(count >= 0 && (start < end || count == 0))
                }
            }
        }
    }
}

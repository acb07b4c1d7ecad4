import Commands
import Testing

struct CronExpressionTests {
    @Test(arguments: [
        ("0 22-4 * * *", 2, "the range “22-4” of the hour runs backwards; write “22-23,0-4”"),
        ("0 0 * * FRI-SUN", 8, "the range “FRI-SUN” of the day of the week runs backwards; write “5-7”"),
        ("0 0 1 nov-feb *", 6, "the range “nov-feb” of the month runs backwards; write “11-12,1-2”"),
        ("*/61 * * * *", 0, "the step of “*/61” is not from 1 to 60"),
        ("5,*/0 * * * *", 2, "the step of “*/0” is not from 1 to 60"),
        ("*/ * * * *", 0, "the step of “*/” is not from 1 to 60"),
        ("60 * * * *", 0, "the minute 60 is out of range; use 0 to 59"),
        ("0 24 * * *", 2, "the hour 24 is out of range; use 0 to 23"),
        ("0 0 0 * *", 4, "the day of the month 0 is out of range; use 1 to 31"),
        ("0 0 1 13 *", 6, "the month 13 is out of range; use 1 to 12, or JAN to DEC"),
        ("0 0 * * 8", 8, "the day of the week 8 is out of range; use 0 to 7, or SUN to SAT"),
        ("99999999999999999999 * * * *", 0, "is out of range"),
        ("@reboot", 0, "“@reboot” is not a time"),
        ("@fortnightly", 0, "“@fortnightly” is not a macro; use @yearly"),
        ("@daily *", 7, "“@daily” stands alone; remove “*”"),
        ("0 0 15W * *", 6, "“W” (the nearest weekday) is not supported"),
        ("0 0 LW * *", 5, "“W” (the nearest weekday) is not supported"),
        ("0 0 L-3 * *", 5, "write “L” alone for the last day of the month"),
        ("0 0 * * L", 8, "write “5L” for the last Friday of the month"),
        ("0 0 * * 2#6", 8, "needs a week from 1 to 5 after “#”"),
        ("0 0 30 2 *", 4, "no day of 50 years matches the days and months “30 2 *”"),
        ("0 0 31 4 *", 4, "no day of 50 years matches the days and months “31 4 *”"),
        ("0 0 31 4,JUN ?", 4, "no day of 50 years matches the days and months “31 4,JUN ?”"),
        ("0 0 31 2 */2", 4, "no day of 50 years matches"),
        ("* * * *", 7, "an expression has 5 fields, or 6 with seconds first, and this one has 4"),
        ("* * * * * * 2026", 12, "and this one has 7"),
        ("", 0, "the expression is empty"), (" \t", 0, "the expression is empty"),
        ("0 0 1 JANUARY *", 9, "cannot read the month “JANUARY”"),
        ("0 0 1,,2 * *", 6, "the day of the month is missing"), ("0, * * * *", 2, "the minute is missing"),
        ("? * * * *", 0, "cannot read the minute “?”"), ("1-2-3 * * * *", 3, "cannot read the minute “1-2-3”"),
        ("** * * * *", 1, "cannot read the minute “**”"), ("-1 * * * *", 0, "cannot read the minute “-1”"),
        ("ü * * * *", 0, "cannot read the minute “ü”"), ("*\n* * * * *", 1, "cannot read the minute “*\n*”"),
        ("@every", 6, "“@every” takes one duration"), ("@every 1h 30m", 10, "“@every” takes one duration"),
        ("@every 10", 8, "the last number has no unit"), ("@every 500ms", 11, "“500ms” is not a duration"),
        ("@every 0s", 7, "“0s” is not a period from 1s to 18300d"),
        ("@every 99999999999999999999d", 7, "is not a period from 1s to 18300d"),
    ])
    func `a faulty expression is refused with its position and a hint`(
        _ text: String, _ position: Int, _ message: String
    ) {
        let error = #expect(throws: CronExpressionError.self) { try CronExpression(parsing: text) }
        #expect(error?.position == position)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(error?.description.hasPrefix("cron expression “\(text)”, byte \(position + 1): ") == true)
    }

    @Test func `a text of more than 1,024 bytes is refused`() {
        let minutes = (0..<60).map(String.init).joined(separator: ",")
        #expect(throws: Never.self) { try CronExpression(parsing: "\(minutes) * * * *") }
        #expect(throws: CronExpressionError.self) {
            try CronExpression(parsing: Array(repeating: minutes, count: 8).joined(separator: ",") + " * * * *")
        }
    }

    @Test(arguments: [
        ("0 0 * * 7", "0 0 * * SUN"), ("0 0 ? * 5-7", "0 0 * * Fri,sat,0"), ("@Yearly", "@annually"),
        ("@midnight", "0 0 * * *"), ("@every 90m", "@every 1h30m"), ("0 0 */2 * ?", "0 0 1-31/2 * *"),
        ("*/20 * * * *", "0,20,40 * * * *"), ("0 0 * * *", "\t0  0 * * * "), ("0 0 0 * * *", "0 0 * * *"),
        ("50/5 * * * *", "50,55 * * * *"), ("0 0 1 */12 *", "0 0 1 JAN *"),
    ])
    func `two spellings fire at the same times`(_ left: String, _ right: String) throws {
        let (left, right) = (try CronExpression(parsing: left), try CronExpression(parsing: right))
        var time = Timestamp(milliseconds: 1_771_234_567_890)
        for _ in 0..<100 {
            let next = try #require(left.next(after: time, in: .utc))
            #expect(right.next(after: time, in: .utc) == next)
            time = next
        }
    }

    @Test func `a period counts its slots from the epoch, also before it`() throws {
        let expression = try CronExpression(parsing: "@every 7s")
        func next(_ milliseconds: Int64) -> Int64? {
            expression.next(after: Timestamp(milliseconds: milliseconds), in: .utc)?.milliseconds
        }
        #expect(next(-1) == 0 && next(0) == 7000 && next(6999) == 7000 && next(7000) == 14_000 && next(-7001) == -7000)
        #expect(next(.max) == nil)
        func previous(_ milliseconds: Int64) -> Int64? {
            expression.previous(atOrBefore: Timestamp(milliseconds: milliseconds), in: .utc)?.milliseconds
        }
        #expect(previous(-1) == -7000 && previous(0) == 0 && previous(6999) == 0 && previous(.min) == nil)
    }

    @Test func `an expression prints as it was written`() throws {
        #expect("\(try CronExpression(parsing: " 0  0 * * sun"))" == " 0  0 * * sun")
    }

    @Test func `the newest time before now is found at once after a week of minutes`() throws {
        let expression = try CronExpression(parsing: "* * * * *")
        let now = try #require(Timestamp(rfc3339: "2026-03-08T12:34:56.789Z"))
        #expect(expression.previous(atOrBefore: now, in: .utc)?.description == "2026-03-08T12:34:00.000Z")
        let minute = try #require(Timestamp(rfc3339: "2026-03-08T12:34:00Z"))
        #expect(expression.previous(atOrBefore: minute, in: .utc) == minute)
        #expect(expression.previous(before: minute, in: .utc)?.description == "2026-03-08T12:33:00.000Z")
    }
}

import Commands
import Console
import Testing

@Suite struct ScheduleTextTests {
    /// A fixed time that was passed by before the clock was set back does not fire twice, so its schedule waits.
    @Test(arguments: [("30 2 * * *", true), ("* * * * *", false), ("@every 10m", false)])
    func `a schedule of fixed times is held while a clock that was set back catches up`(
        _ expression: String, _ isHeld: Bool
    ) throws {
        let now = Timestamp(milliseconds: 1_800_000_000_000)
        let definition = try SchedulePut(
            .object([
                .init("cron", .string(expression)), .init("command", .object([.init("type", .string("noop"))])),
            ]), name: "beat"
        ).definition
        let draft = CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
        let schedule = StoredSchedule(
            definition: definition, action: .command(ScheduledDraft(draft)),
            state: ScheduleTiming(definition, in: .system).firstState(now: now + .seconds(3600)))
        let hold = ScheduleText.hold(of: schedule, now: now)
        #expect((hold?.hasPrefix("the clock was set back") ?? false) == isHeld, "\(hold ?? "")")
        #expect(ScheduleText.next(of: schedule, now: now).hasPrefix("held: ") == isHeld)
        #expect(ScheduleText.hold(of: schedule, now: now + .seconds(3600)) == nil)
    }
}

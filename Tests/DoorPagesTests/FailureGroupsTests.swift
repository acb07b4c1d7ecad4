import Commands
import Console
import Testing

@testable import DoorPages

struct FailureGroupsTests {
    private func problem(_ status: String, _ reason: String, id: Int = 1) -> WatchState.Problem {
        WatchState.Problem(
            at: "2026-11-28T06:36:12.485Z", id: CommandID(high: UInt64(id), low: 7).description, status: status,
            reason: reason)
    }

    @Test func `failures that differ in a path, a name or a number have one cause`() {
        let groups = FailureGroups([
            problem("tooManyTimes", "POST http://h:1/a/18 was answered 403 Forbidden", id: 1),
            problem("error", "POST http://h:1/a/19 was answered 403 Forbidden", id: 2),
            problem("error", "POST http://h:1/a/19 was answered 503 Service Unavailable", id: 3),
            problem("error", "POST http://other/a was answered 403 Forbidden", id: 4),
        ]).groups
        #expect(
            groups.map(\.pattern) == [
                "POST http://h:1/… was answered 403 Forbidden",
                "POST http://h:1/… was answered 503 Service Unavailable",
                "POST http://other/… was answered 403 Forbidden",
            ])
        #expect(groups.map(\.count) == [2, 1, 1] && groups[0].newest == CommandID(high: 1, low: 7))
        #expect(groups[0].search == "was answered 403 Forbidden")
    }

    @Test func `the last failure of a command that was given up counts once`() {
        let reason = "cannot read /srv/a.mp4: no such file"
        let groups = FailureGroups([problem("tooManyTimes", reason), problem("error", reason)]).groups
        #expect(groups.map(\.count) == [1] && groups[0].pattern == "cannot read … no such file")
    }

    @Test(arguments: ["", "plain words", "“x 1”", "://", "a://b", "/", "…"])
    func `the text to look for is a part of the reason`(reason: String) {
        let (_, search) = FailureGroups.pattern(of: reason)
        #expect(search.isEmpty || reason.contains(search))
    }
}

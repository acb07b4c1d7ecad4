import Commands
import Console
import Testing

@testable import DoorLive

struct FailureGroupsTests {
    private func problem(_ status: String, _ reason: String, id: Int = 1) -> WatchState.Problem {
        WatchState.Problem(
            at: "2026-11-28T06:36:12.485Z", id: CommandID(high: UInt64(id), low: 7).description, status: status,
            reason: reason)
    }

    private func groups(_ problems: WatchState.Problem...) -> [FailureGroups.Group] {
        var all = FailureGroups()
        for problem in problems { all.add(problem) }
        return all.groups
    }

    @Test func `failures that differ in a path, a name or a number have one cause`() {
        let groups = groups(
            problem("error", "POST http://other/a was answered 403 Forbidden", id: 4),
            problem("error", "POST http://h:1/a/19 was answered 503 Service Unavailable", id: 3),
            problem("error", "POST http://h:1/a/19 was answered 403 Forbidden", id: 2),
            problem("tooManyTimes", "POST http://h:1/a/18 was answered 403 Forbidden", id: 1))
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
        let groups = groups(problem("error", reason), problem("tooManyTimes", reason))
        #expect(groups.map(\.count) == [1] && groups[0].pattern == "cannot read … no such file")
    }

    @Test func `a cause with many names is counted whole, and hides no other`() {
        var all = FailureGroups()
        all.add(problem("inDoubt", "the answer was lost", id: 1))
        for id in 2..<5002 { all.add(problem("error", "PUT http://h:1/\(id).mp4 was answered 403 Forbidden", id: id)) }
        #expect(all.groups.map(\.count) == [5000, 1])
    }

    @Test func `a number that lacks failures of the store says so`() {
        var all = FailureGroups()
        all.add(problem("error", "refused", id: 1), isComplete: false)
        all.add(problem("error", "refused", id: 2))
        #expect(all.groups.map(\.isComplete) == [false])
    }

    @Test(arguments: ["", "plain words", "“x 1”", "://", "a://b", "/", "…"])
    func `the text to look for is a part of the reason`(reason: String) {
        let (_, search) = FailureGroups.pattern(of: reason)
        #expect(search.isEmpty || reason.contains(search))
    }
}

import Commands
import Door
import Queue
import Store
import TestSupport
import Testing

struct ActionTests {
    private func ended(_ rig: APIRig, _ path: String) async throws -> JSONValue {
        try await awaited("the end of the action") {
            let run = try await rig.get(path).json
            return run["state"]?.string == "running" ? JSONValue?.none : run
        }
    }

    @Test func `an action puts away what was given up only where its filter names that status`() {
        var filter = CommandFilter()
        #expect(!BulkAction(.cancel, of: filter).statuses.contains(.tooManyTimes))
        filter.statuses = [.tooManyTimes]
        #expect(BulkAction(.cancel, of: filter).statuses.contains(.tooManyTimes))
        #expect(!BulkAction(.requalify(.background), of: filter).statuses.contains(.tooManyTimes))
    }

    @Test func `an action changes all that its filter admits, and counts`() async throws {
        try await APIRig.with { rig in
            var options = SubmitOptions()
            options.qos = .background
            for _ in 0..<30 { try await rig.client.submit("noop", payload: [:], options: options) }
            let other = try await rig.client.submit("noop", payload: [:])
            let done = try await rig.client.submit("noop", payload: [:], options: options)
            try rig.execute(done)
            let started = try await rig.post("/commands/actions", ["verb": "cancel", "filter": ["qos": "background"]])
            #expect(started.status == 202, "\(started.text)")
            let location = try #require(started["Location"])
            let start = try #require(location.firstRange(of: "/api/v1"))
            let run = try await ended(rig, String(location[start.upperBound...]))
            #expect(run["state"]?.string == "done" && run["seen"] == 31, "\(run)")
            #expect(run["changed"] == 30 && run["skipped"] == 1 && run["failed"] == 0, "\(run)")
            #expect(try rig.store.command(other)?.status == .new)
            #expect(try rig.store.counts()[.cancelled] == 30)
            #expect(try await rig.get("/actions").json["actions"]?.elements?.count == 1)
            let several = try await rig.post(
                "/commands/actions", ["verb": "requalify", "qos": "utility", "filter": ["status": ["new", "error"]]])
            let second = try await ended(rig, "/actions/\(try #require(try several.json["id"]?.string))")
            #expect(second["seen"] == 1 && second["changed"] == 1, "\(second)")
        }
    }

    @Test func `an action on everything says so`() async throws {
        try await APIRig.with { rig in
            try await rig.client.submit("noop", payload: [:])
            let empty = try await rig.post("/commands/actions", ["verb": "cancel"])
            #expect(empty.status == 400 && empty.problem == "empty-filter", "\(empty.text)")
            let all = try await rig.post("/commands/actions", ["verb": "requalify", "qos": "utility", "all": true])
            #expect(all.status == 202)
            let run = try await ended(rig, "/actions/\(try #require(try all.json["id"]?.string))")
            #expect(run["changed"] == 1, "\(run)")
        }
    }

    @Test(arguments: [
        "{}", "{\"verb\":\"remove\",\"all\":true}", "{\"verb\":\"requalify\",\"all\":true}",
        "{\"verb\":\"resolve\",\"as\":\"new\",\"all\":true}", "{\"verb\":\"cancel\",\"qos\":\"utility\",\"all\":true}",
        "{\"verb\":\"cancel\",\"filter\":[]}", "{\"verb\":\"cancel\",\"filter\":{\"state\":\"new\"}}",
        "{\"verb\":\"cancel\",\"filter\":{\"limit\":\"1\"}}", "{\"verb\":\"cancel\",\"all\":1}",
    ])
    func `an action of another form is refused`(_ body: String) async throws {
        try await APIRig.with { rig in
            let response = try await rig.send(
                "POST", "/commands/actions", type: "application/json", body: Array(body.utf8))
            #expect(response.status == 400 && response.problem == "invalid-body", "\(response.text)")
        }
    }

    @Test func `an action that is cancelled changes no further command`() async throws {
        try await APIRig.with { rig in
            for _ in 0..<50 { try await rig.client.submit("noop", payload: [:]) }
            let id = try await rig.actions.start(BulkAction(.cancel, of: CommandFilter()), by: "a test")
            #expect(try await rig.send("DELETE", "/actions/\(id)").status == 204)
            let run = try await ended(rig, "/actions/\(id)")
            let changed = try #require(run["changed"]?.integer)
            #expect(try rig.store.counts()[.cancelled] == Int(changed))
            #expect(["cancelled", "done"].contains(run["state"]?.string))
            #expect(try await rig.get("/actions/\(CommandID())").problem == "action-not-found")
        }
    }
}

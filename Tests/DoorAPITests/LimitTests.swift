import Commands
import Door
import Store
import Testing

/// Rate limits and schedules that are put over HTTP.
struct LimitTests {
    private static func put(
        _ rig: APIRig, _ path: String, _ body: JSONValue, token: String = "control"
    ) async throws -> APIResponse {
        try await rig.send("PUT", path, token: token, type: "application/json", body: body.bytes)
    }

    @Test func `a limit is put, shown with what waits for it, and removed`() async throws {
        try await APIRig.with { rig in
            let made = try await Self.put(rig, "/limits/api", ["starts": "30/s", "burst": 5])
            #expect(try made.status == 201 && made.json["burst"] == 5 && made.json["atOnce"] == .null)
            // The whole limit is replaced.
            let changed = try await Self.put(rig, "/limits/api", ["starts": "60/s", "atOnce": 2])
            #expect(try changed.status == 200 && changed.json["starts"] == "60/s" && changed.json["atOnce"] == 2)
            #expect(try rig.store.rateLimits()["api"]?.burst == nil)
            var draft = CommandDraft(
                type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
            draft.limit = "api"
            let id = try rig.store.submit([draft], allowUnknownTypes: false)[0].get().id
            let shown = try await rig.get("/limits/api", token: "read").json
            #expect(shown["waiting"] == 1 && shown["running"] == 0, "\(shown)")
            #expect(shown["next"]?.elements?.compactMap { $0["id"]?.string } == [id.description])
            #expect(shown["of"]?.elements?.first?["qos"] == "default")
            let list = try await rig.get("/limits").json["limits"]?.elements
            #expect(list?.first?["waiting"] == 1)
            let removed = try await rig.send("DELETE", "/limits/api", token: "control")
            #expect(try removed.status == 200 && removed.json["waiting"] == 1)
            // It is listed while a ready command names it.
            #expect(try await rig.get("/limits/api").json["starts"] == .null)
            #expect(try await rig.send("DELETE", "/limits/api", token: "control").problem == "limit-not-found")
        }
    }

    @Test func `a limit with another name, value or token is refused`() async throws {
        try await APIRig.with { rig in
            let body: JSONValue = ["starts": "30/s"]
            #expect(try await Self.put(rig, "/limits/api", body, token: "read").status == 403)
            #expect(try await Self.put(rig, "/limits/a%20b", body).problem == "invalid-body")
            for body: JSONValue in [
                [:], ["starts": "many"], ["starts": 3], ["starts": "30/s", "burst": 0],
                ["starts": "30/s", "atOnce": "2"], ["starts": "30/s", "rate": 2],
            ] {
                #expect(try await Self.put(rig, "/limits/api", body).problem == "invalid-body", "\(body.text)")
            }
            #expect(try await rig.get("/limits/api").problem == "limit-not-found")
            let limits = try rig.store.rateLimits()
            #expect(limits.isEmpty)
        }
    }

    @Test func `a schedule is put once, replaced and removed`() async throws {
        try await APIRig.with { rig in
            let body: JSONValue = ["cron": "30 2 * * *", "command": ["type": "noop"]]
            let path = "/schedules/nightly"
            #expect(try await Self.put(rig, path, body, token: "control+submit").status == 201)
            #expect(try await Self.put(rig, path, body, token: "control+submit").status == 200)
            let other: JSONValue = [
                "cron": "@hourly", "flow": ["nodes": ["a": ["type": "noop"], "b": ["type": "noop", "after": "a"]]],
            ]
            let changed = try await Self.put(rig, path, other, token: "control+submit")
            #expect(try changed.status == 200 && changed.json["cron"] == "@hourly")
            let triggered = try await rig.post("\(path)/trigger")
            #expect(try triggered.status == 201 && triggered.json["ids"]?.elements?.count == 1)
            #expect(try await rig.send("DELETE", path, token: "control").status == 204)
            #expect(try await rig.send("DELETE", path, token: "control").problem == "schedule-not-found")
        }
    }

    @Test func `a schedule submits only what its token may submit`() async throws {
        try await APIRig.with { rig in
            let path = "/schedules/nightly"
            func body(_ command: JSONValue) -> JSONValue { ["cron": "@daily", "command": command] }
            let noop: JSONValue = ["type": "noop"]
            #expect(try await Self.put(rig, path, body(noop), token: "control").problem == "scope-missing")
            #expect(try await Self.put(rig, path, body(noop), token: "submit").status == 403)
            for (command, problem): (JSONValue, String) in [
                (["type": "exec", "payload": ["program": "sh"]], "type-forbidden"),
                (["type": "request", "payload": ["url": "http://127.0.0.1:1/x"]], "destination-forbidden"),
                (["type": "noop", "limit": "none"], "invalid-command"),
                (["type": "noop", "uniqueKey": "k"], "invalid-body"),
            ] {
                let refused = try await Self.put(rig, path, body(command), token: "control+submit")
                #expect(refused.problem == problem, "\(command.text)")
            }
            let flow: JSONValue = [
                "cron": "@daily",
                "flow": ["nodes": ["a": ["type": "request", "payload": ["url": "http://127.0.0.1:1/"]]]],
            ]
            #expect(try await Self.put(rig, path, flow, token: "control+submit").problem == "destination-forbidden")
            for body: JSONValue in [
                ["cron": "30 2 * *"], ["command": noop], ["cron": "@daily", "command": noop, "x": 1],
            ] {
                #expect(try await Self.put(rig, path, body, token: "control+submit").problem == "invalid-body")
            }
            let schedules = try rig.store.schedules()
            #expect(schedules.isEmpty)
        }
    }
}

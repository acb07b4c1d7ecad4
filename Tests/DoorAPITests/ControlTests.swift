import Commands
import Queue
import Settings
import Store
import TestSupport
import Testing

struct ControlTests {
    @Test func `a waiting command is cancelled once, with its actor`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            let cancelled = try await rig.post("/commands/\(id)/cancel")
            #expect(cancelled.status == 200, "\(cancelled.text)")
            #expect(try cancelled.json["status"]?.string == "cancelled")
            #expect(try rig.store.timeline(id).last?.reason == "cancelled by token “test” at 127.0.0.1")
            #expect(try await rig.post("/commands/\(id)/cancel").status == 200)
            #expect(try rig.store.timeline(id).count == 2)
        }
    }

    @Test func `the cancellation of a running command is accepted, and repeated`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            try rig.claim(id)
            for _ in 0..<2 {
                let response = try await rig.post("/commands/\(id)/cancel")
                #expect(response.status == 202, "\(response.text)")
                #expect(try response.json["cancelRequested"] == true)
            }
        }
    }

    @Test func `a change by a token without read shows neither payload nor result`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: ["milliseconds": 7])
            try rig.execute(id)
            let body: JSONValue = ["as": "success"]
            for (token, payload, result) in [
                ("all", ["milliseconds": 7], ["echo": 1]), ("control", .null, .null),
            ] as [(String, JSONValue, JSONValue)] {
                // The command is as wanted, so the response is its representation.
                let response = try await rig.post("/commands/\(id)/resolve", body, token: token)
                #expect(response.status == 200, "\(response.text)")
                #expect(try response.json["payload"] == payload && response.json["result"] == result)
                #expect(try response["ETag"] == (await rig.get("/commands/\(id)"))["ETag"])
            }
        }
    }

    @Test func `a member of a pause that is null or missing never means everything`() async throws {
        try await APIRig.with { rig in
            for body: JSONValue in [
                ["qos": "utility", "destination": .null], ["qos": .null, "destination": .null], ["all": false], [:],
                ["qos": "utility", "all": true], ["all": .null],
            ] {
                let refused = try await rig.post("/pause", body)
                #expect(refused.status == 400, "\(body.text): \(refused.text)")
            }
            #expect(try await rig.get("/pauses").json["pauses"] == [])
            for body: JSONValue in [["qos": "utility"], ["all": true]] {
                #expect(try await rig.post("/pause", body).status == 200)
            }
            let bare = try await rig.post("/resume", ["qos": .null, "destination": .null])
            #expect(try bare.status == 200 && bare.json["pauses"]?.elements?.count == 1, "a colleague's stays")
            let resumed = try await rig.post("/resume", ["qos": "utility", "destination": .null])
            #expect(try resumed.json["pauses"] == [], "\(resumed.text)")
            let wrong = try await rig.post("/pause", ["destination": "none"])
            #expect(wrong.status == 400 && !wrong.text.contains("or none"), "\(wrong.text)")
        }
    }

    @Test func `a verb that the status forbids names those that it allows`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            let early = try await rig.post("/commands/\(id)/resolve", ["as": "success"])
            #expect(early.status == 409 && early.problem == "status-conflict", "\(early.text)")
            #expect(try early.json["allowed"] == ["cancel", "requalify"])
            try rig.execute(id)
            for verb in ["cancel", "retry", "requalify"] {
                let body: JSONValue? = verb == "requalify" ? ["qos": "background"] : nil
                let response = try await rig.post("/commands/\(id)/\(verb)", body)
                #expect(response.status == 409, "\(response.text)")
                #expect(try response.json["allowed"] == [])
            }
        }
    }

    @Test func `a command that was given up is retried, with its actor`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            try rig.execute(id, ending: .failure(CommandFailure(.final, reason: "refused")))
            let retried = try await rig.post("/commands/\(id)/retry")
            #expect(retried.status == 200, "\(retried.text)")
            #expect(try retried.json["status"]?.string == "new")
            #expect(try rig.store.timeline(id).last?.reason?.contains("token “test” at 127.0.0.1") == true)
            #expect(try await rig.post("/commands/\(id)/retry").status == 200)
        }
    }

    @Test(arguments: [("success", "success"), ("retry", "new"), ("cancel", "cancelled")])
    func `a command in doubt is settled, with its actor`(_ settlement: String, _ status: String) async throws {
        try await APIRig.with { rig in
            var draft = CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: false)
            draft.retryLimit = 0
            let id = try await rig.client.submit(draft)
            try rig.execute(
                id, ending: .failure(CommandFailure(.reset, reason: "cut off", ambiguous: true)))
            try #require(try rig.store.command(id)?.status == .inDoubt)
            let wrong = try await rig.post("/commands/\(id)/resolve", ["as": "new"])
            #expect(wrong.status == 400 && wrong.problem == "invalid-body", "\(wrong.text)")
            let settled = try await rig.post("/commands/\(id)/resolve", ["as": .string(settlement)])
            #expect(settled.status == 200, "\(settled.text)")
            #expect(try settled.json["status"]?.string == status)
            #expect(try rig.store.timeline(id).last?.reason?.contains("token “test” at 127.0.0.1") == true)
            // A repeated request changes nothing.
            let count = try rig.store.timeline(id).count
            let again = try await rig.post("/commands/\(id)/resolve", ["as": .string(settlement)])
            #expect(try again.status == 200 && rig.store.timeline(id).count == count, "\(again.text)")
        }
    }

    @Test func `of two changes with one If-Match a single one is made`() async throws {
        try await APIRig.with { rig in
            for _ in 0..<40 {
                let id = try await rig.client.submit("noop", payload: [:])
                try rig.execute(id, ending: .failure(CommandFailure(.command, reason: "refused")))
                let tag = try #require(try await rig.get("/commands/\(id)")["ETag"])
                // Both verbs are allowed in the status, and each in that which the other leads to.
                let responses = try await withThrowingTaskGroup(of: APIResponse.self) { group in
                    for verb in ["cancel", "retry"] {
                        group.addTask {
                            try await rig.post("/commands/\(id)/\(verb)", fields: [("If-Match", tag)])
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(responses.map(\.status).sorted() == [200, 412], "\(responses.map(\.text))")
                let late = try #require(responses.first { $0.status == 412 })
                #expect(late.problem == "command-changed", "\(late.text)")
                #expect(try late.json["command"]?["status"] == (await rig.get("/commands/\(id)").json["status"]))
            }
        }
    }

    @Test(arguments: ["W/\"TAG\"", "\"TAG", "TAG", "\"0-0\"", "\"\"", "\"TAG0\"", "\"0TAG\", \"99-1\""])
    func `If-Match compares strongly`(_ form: String) async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            let tag = try #require(try await rig.get("/commands/\(id)")["ETag"]).filter { $0 != "\"" }
            let version = tag.split(separator: "-").prefix(2).joined(separator: "-")
            let field = form.replacing("TAG", with: version)
            let response = try await rig.post("/commands/\(id)/cancel", fields: [("If-Match", field)])
            #expect(response.status == 412, "\(field): \(response.text)")
            let fields = [("If-Match", "\"1-1\", \"\(tag)\"")]
            #expect(try await rig.post("/commands/\(id)/cancel", fields: fields).status == 200)
        }
    }

    @Test func `If-Match stops a change of a command that has moved on`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            let tag = try #require(try await rig.get("/commands/\(id)")["ETag"])
            try rig.claim(id)
            let stale = try await rig.post("/commands/\(id)/cancel", fields: [("If-Match", tag)])
            #expect(stale.status == 412 && stale.problem == "command-changed", "\(stale.text)")
            #expect(try stale.json["command"]?["status"]?.string == "sent")
            let fresh = try #require(stale["ETag"])
            #expect(try await rig.post("/commands/\(id)/cancel", fields: [("If-Match", fresh)]).status == 202)
        }
    }

    @Test func `a quality of service is changed, and named`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            #expect(try await rig.post("/commands/\(id)/requalify", ["qos": "high"]).problem == "invalid-body")
            #expect(try await rig.post("/commands/\(id)/requalify").problem == "invalid-body")
            #expect(
                try await rig.post("/commands/\(id)/requalify", ["qos": "utility", "x": 1]).problem == "invalid-body")
            #expect(try await rig.post("/commands/\(id)/requalify", ["qos": "background"]).status == 200)
            #expect(try rig.store.command(id)?.qos == .background)
        }
    }

    @Test func `pauses are made and lifted`() async throws {
        try await APIRig.with { rig in
            let made = try await rig.post("/pause", ["qos": "background", "destination": "https://a.example/x"])
            #expect(try made.json["pauses"]?.elements?.first?["destination"]?.string == "https://a.example:443")
            #expect(try await rig.post("/pause", ["all": true]).json["pauses"]?.elements?.count == 2)
            #expect(try await rig.get("/pauses").json["pauses"]?.elements?.count == 2)
            #expect(try await rig.post("/resume", ["qos": "background"]).json["pauses"]?.elements?.count == 2)
            #expect(try await rig.post("/resume").json["pauses"]?.elements?.count == 1)
            #expect(try await rig.post("/resume", ["all": true]).json["pauses"] == [])
        }
    }

    @Test func `an endpoint of webhooks is paused and resumed`() async throws {
        try await APIRig.with { rig in
            #expect(try await rig.post("/webhooks/billing/pause").problem == "webhook-not-found")
            let origin = try #require(Destination("https://hooks.example.com"))
            let setting = WebhookEndpointSetting(name: "billing", origin: origin)
            try rig.store.set(WebhookEndpointSetting.key("billing"), to: setting.value)
            #expect(try await rig.post("/webhooks/billing/pause").json["state"]?.string == "paused")
            let listed = try await rig.get("/webhooks").json["webhooks"]
            #expect(listed?.elements?.first?["cause"]?.string == "person", "\(listed ?? .null)")
            let resumed = try await rig.post("/webhooks/billing/resume").json
            #expect(resumed["state"]?.string == "active" && resumed["waited"] == 0, "\(resumed)")
        }
    }

    @Test func `the messages that an endpoint did not get are sent again by an action`() async throws {
        try await APIRig.with { rig in
            let origin = try #require(Destination("https://hooks.example.com"))
            let setting = WebhookEndpointSetting(name: "billing", origin: origin)
            try rig.store.set(WebhookEndpointSetting.key("billing"), to: setting.value)
            func message(_ url: String) async throws -> CommandID {
                let id = try await rig.client.submit("webhook", payload: ["url": .string(url), "type": "a"])
                try rig.execute(id, ending: .failure(CommandFailure(.final, reason: "refused")))
                return id
            }
            let lost = try await message("https://hooks.example.com/a")
            let other = try await message("https://other.example.com/a")
            for body in [nil, [:], ["since": 7], ["since": "now"], ["since": "2025-01-01T00:00:00Z", "all": true]]
                as [JSONValue?]
            {
                #expect(try await rig.post("/webhooks/billing/replay", body).status == 400)
            }
            #expect(try await rig.post("/webhooks/none/replay", ["since": "2025-01-01T00:00:00Z"]).status == 404)
            for time: JSONValue in [
                ["since": "2100-01-01T00:00:00Z"], ["since": "2025-01-01T00:00:00Z", "until": "2025-01-02T00:00:00Z"],
            ] {
                let none = try await rig.post("/webhooks/billing/replay", time)
                let run = try #require(try none.json["id"]?.string, "\(none.text)")
                try await until("the end of the action") {
                    try await rig.get("/actions/\(run)").json["state"]?.string == "done"
                }
                #expect(try rig.store.command(lost)?.status == .tooManyTimes)
            }
            let started = try await rig.post("/webhooks/billing/replay", ["since": "2025-01-01T00:00:00Z"])
            #expect(started.status == 202, "\(started.text)")
            try await until("the message waits again") { try rig.store.command(lost)?.status == .new }
            #expect(try rig.store.command(other)?.status == .tooManyTimes)
            // Another endpoint of the origin may have got the messages.
            let twin = WebhookEndpointSetting(name: "twin", origin: origin)
            try rig.store.set(WebhookEndpointSetting.key("twin"), to: twin.value)
            let refused = try await rig.post("/webhooks/billing/replay", ["since": "2025-01-01T00:00:00Z"])
            #expect(refused.status == 400 && refused.text.contains("sluice webhook replay"), "\(refused.text)")
        }
    }

    @Test func `a link is held offline and limited`() async throws {
        try await APIRig.with { rig in
            let body: JSONValue = ["level": "offline", "maxRate": 250_000]
            let set = try await rig.send(
                "PATCH", "/links/https:a.example:443", type: "application/json", body: body.bytes)
            #expect(set.status == 200, "\(set.text)")
            #expect(try set.json["level"]?.string == "offline" && set.json["maxRate"] == 250_000)
            let shown = try await rig.get("/links/https:a.example:443").json
            #expect(shown["links"]?.elements?.first?["maxRate"] == 250_000, "\(shown)")
            for path in [
                "https%3A%2F%2Fa.example%3A443", "https%3A%2F%2Fa.example", "https:a.example", "HTTPS:A.example",
            ] {
                let link = try await rig.get("/links/\(path)")
                #expect(try link.status == 200 && link.json == shown, "\(path): \(link.text)")
            }
            for path in ["https:a.example%2Fb", "https%3A%2F%2Fa.example%2Fb"] {
                #expect(try await rig.get("/links/\(path)").status == 400, "\(path)")
            }
            for path in ["https:a.example%3Fq", "https:u@a.example", "https:", ":443", "file:localhost"] {
                #expect(try await rig.get("/links/\(path)").problem == "link-not-found", "\(path)")
            }
            let fraction = try await rig.send(
                "PATCH", "/links/https:a.example:443", type: "application/json",
                body: Array("{\"maxRate\":399788.0}".utf8))
            #expect(try fraction.status == 200 && fraction.json["maxRate"] == 399_788, "\(fraction.text)")
            for wrong in [
                "{\"maxRate\":399788.5}", "{\"maxRate\":1e300}", "{\"level\":\"good\"}", "{\"maxRate\":1}", "{}",
                "{\"burst\":1}",
            ] {
                let response = try await rig.send(
                    "PATCH", "/links/https:a.example:443", type: "application/json", body: Array(wrong.utf8))
                #expect(response.status == 400 && response.problem == "invalid-body", "\(response.text)")
            }
            #expect(try await rig.get("/links/nowhere").status == 404)
            let missing = try await rig.get("/links/https:b.example:443")
            #expect(missing.problem == "link-not-found", "\(missing.text)")
            #expect(try missing.json["detail"]?.string?.contains("https://a.example:443") == true)
        }
    }
}

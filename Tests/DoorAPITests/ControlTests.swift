import Commands
import Operations
import Sluice
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

    @Test func `a command in doubt is settled by its token`() async throws {
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
            #expect(try await rig.post("/pause").json["pauses"]?.elements?.count == 2)
            #expect(try await rig.get("/pauses").json["pauses"]?.elements?.count == 2)
            #expect(try await rig.post("/resume", ["qos": "background"]).json["pauses"]?.elements?.count == 2)
            #expect(try await rig.post("/resume").json["pauses"] == [])
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

    @Test func `a link is held offline and limited`() async throws {
        try await APIRig.with { rig in
            let body: JSONValue = ["level": "offline", "maxRate": 250_000]
            let set = try await rig.send(
                "PATCH", "/links/https:a.example:443", type: "application/json", body: body.bytes)
            #expect(set.status == 200, "\(set.text)")
            #expect(try set.json["level"]?.string == "offline" && set.json["maxRate"] == 250_000)
            let shown = try await rig.get("/links/https:a.example:443").json
            #expect(shown["links"]?.elements?.first?["maxRate"] == 250_000, "\(shown)")
            for wrong in ["{\"level\":\"good\"}", "{\"maxRate\":1}", "{}", "{\"burst\":1}"] {
                let response = try await rig.send(
                    "PATCH", "/links/https:a.example:443", type: "application/json", body: Array(wrong.utf8))
                #expect(response.status == 400 && response.problem == "invalid-body", "\(response.text)")
            }
            #expect(try await rig.get("/links/nowhere").status == 404)
            #expect(try await rig.get("/links/https:b.example:443").problem == "link-not-found")
        }
    }
}

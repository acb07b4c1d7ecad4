import Commands
import Door
import HTTPTypes
import Queue
import Store
import TestSupport
import Testing
import Uploads

struct SystemTests {
    @Test func `counts, workers, limits and the token are shown`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            try rig.claim(id)
            let counts = try await rig.get("/counts").json
            #expect(counts["counts"]?["sent"] == 1 && counts["byQos"]?["default"]?["sent"] == 1, "\(counts)")
            let workers = try await rig.get("/workers").json["workers"]
            #expect(workers?.elements?.first?["inFlight"] == 1)
            #expect(try await rig.get("/limits").json == ["limits": []])
            #expect(try await rig.get("/routes").json == ["routes": []])
            #expect(try await rig.get("/schedules").json == ["schedules": []])
            #expect(try await rig.get("/schedules/nightly").problem == "schedule-not-found")
            let me = try await rig.get("/me", token: "metrics/prometheus").json
            #expect(me["name"]?.string == "prometheus" && me["scopes"] == ["metrics"], "\(me)")
        }
    }

    @Test func `uploads are listed by state and ended by their token or an operator`() async throws {
        try await APIRig.with { rig in
            var ids: [CommandID] = []
            for _ in 0..<3 {
                var facts = UploadFacts(origin: .tus)
                facts.token = "upload/a"
                let upload = Upload(id: CommandID(), length: 5, facts: facts, createdAt: .now)
                ids.append(upload.id)
                _ = try rig.store.apply([.create(upload)], shard: upload.id.shard(of: rig.store.shardCount))
            }
            ids.sort(by: >)
            let page = try await rig.get("/uploads?state=open&limit=2").json
            #expect(page["uploads"]?.elements?.compactMap { $0["id"]?.string } == ids.prefix(2).map(\.description))
            let next = try #require(page["next"]?.string)
            let rest = try await rig.get("/uploads?state=open&limit=2&cursor=\(next)").json
            #expect(rest["uploads"]?.elements?.count == 1 && rest["next"] == .null)
            #expect(try await rig.send("DELETE", "/uploads/\(ids[0])", token: "upload/b").status == 404)
            #expect(try await rig.send("DELETE", "/uploads/\(ids[0])", token: "upload/a").status == 204)
            #expect(try await rig.send("DELETE", "/uploads/\(ids[1])", token: "control").status == 204)
            #expect(try await rig.send("DELETE", "/uploads/\(ids[1])", token: "control").status == 204)
            let ended = try await rig.get("/uploads/\(ids[1])").json
            #expect(ended["state"]?.string == "ended", "\(ended)")
            #expect(ended["reason"]?.string == "terminated by token “test” at 127.0.0.1", "\(ended)")
        }
    }

    @Test func `each endpoint wants a token with its scope`() async throws {
        try await APIRig.with { rig in
            for endpoint in rig.endpoints where endpoint.path.hasPrefix("/api/v1") {
                let path = String(endpoint.path.dropFirst("/api/v1".count))
                    .replacing("{id}", with: "\(CommandID())").replacing("{name}", with: "a")
                    .replacing("{destination}", with: "https:a.example:443")
                for (method, rule) in endpoint.methods {
                    guard let scopes = rule.scopes else { continue }
                    let without = try await rig.send(method.rawValue, path, token: nil)
                    #expect(without.status == 401, "\(method) \(endpoint.path)")
                    guard
                        let other = ["metrics", "read"].first(where: { name in
                            !scopes.contains { $0.rawValue == name }
                        })
                    else { continue }
                    let forbidden = try await rig.send(method.rawValue, path, token: other)
                    #expect(forbidden.status == 403, "\(method) \(endpoint.path)")
                }
            }
        }
    }
}

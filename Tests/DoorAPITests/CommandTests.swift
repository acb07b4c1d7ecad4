import Commands
import Queue
import Store
import Testing

struct CommandTests {
    @Test func `a command has its payload without secrets, its timeline and its result`() async throws {
        try await APIRig.with { rig in
            let payload: JSONValue = [
                "url": "https://media.example.com/a?signature=s3cret", "headers": ["Authorization": "Bearer s3cret"],
            ]
            let id = try await rig.client.submit("request", payload: payload)
            try rig.execute(id)
            let response = try await rig.get("/commands/\(id)")
            #expect(response.status == 200 && !response.text.contains("s3cret"), "\(response.text)")
            let command = try response.json
            #expect(command["id"]?.string == id.description && command["status"]?.string == "success")
            #expect(
                command["timeline"]?.elements?.compactMap { $0["status"]?.string } == [
                    "new", "queued", "sent", "success",
                ])
            #expect(try await rig.get("/commands/\(id)/result").json == ["echo": 1])
            #expect(try await rig.get("/commands/\(id)/timeline").json["timeline"] == command["timeline"])
            let explained = try await rig.get("/commands/\(id)/explain").json
            #expect(explained["gates"]?.elements?.first?["gate"]?.string == "ended", "\(explained)")
        }
    }

    @Test func `a command has its newest transitions, and its timeline all of them by pages`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            for _ in 0..<60 {
                try await rig.client.cancel(id)
                try await rig.client.retry(id)
            }
            let all = try rig.store.timeline(id).map(\.seq)
            func seqs(_ json: JSONValue) -> [Int64] {
                json["timeline"]?.elements?.compactMap { $0["seq"]?.integer.map { Int64($0) } } ?? []
            }
            #expect(all.count == 121)
            #expect(seqs(try await rig.get("/commands/\(id)").json) == Array(all.suffix(100)))
            #expect(seqs(try await rig.get("/commands/\(id)/timeline").json) == all)
            let newest = try await rig.get("/commands/\(id)/timeline?limit=100").json
            #expect(seqs(newest) == Array(all.suffix(100)))
            let cursor = try #require(newest["next"]?.string)
            let first = try await rig.get("/commands/\(id)/timeline?limit=100&cursor=\(cursor)").json
            #expect(seqs(first) == Array(all.prefix(21)) && first["next"] == .null)
            #expect(try await rig.get("/commands/\(id)/timeline?cursor=x").problem == "invalid-query")
        }
    }

    @Test func `an entity tag answers 304 until the command changes`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            let first = try await rig.get("/commands/\(id)")
            let tag = try #require(first["ETag"])
            #expect(tag.hasPrefix("\"\(id.shard(of: rig.store.shardCount))-"))
            let same = try await rig.get("/commands/\(id)", fields: [("If-None-Match", "W/\(tag), \"x\"")])
            #expect(same.status == 304 && same.body.isEmpty && same["ETag"] == tag)
            // A change without a transition is another representation too.
            try await rig.client.requalify(id, to: .background)
            let other = try await rig.get("/commands/\(id)", fields: [("If-None-Match", tag)])
            #expect(other.status == 200 && other["ETag"] != tag)
        }
    }

    @Test func `a waiting request is answered by the change`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            let tag = try #require(try await rig.get("/commands/\(id)")["ETag"])
            async let ended = rig.get("/commands/\(id)?wait=30")
            async let changed = rig.get("/commands/\(id)", fields: [("If-None-Match", tag), ("Prefer", "wait=30")])
            try rig.execute(id)
            #expect(try await ended.json["status"]?.string == "success")
            let answer = try await changed
            #expect(answer.status == 200 && answer["Preference-Applied"] == "wait=30")
        }
    }

    @Test func `a wait ends in its time`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            let answer = try await rig.get("/commands/\(id)?wait=1")
            #expect(answer.status == 200)
            #expect(try answer.json["status"]?.string == "new")
            #expect(try await rig.get("/commands/\(id)?wait=soon").problem == "invalid-query")
        }
    }

    @Test(arguments: ["", "/timeline", "/explain", "/result"])
    func `an id is a whole UUID of a command`(_ suffix: String) async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            let part = id.description.suffix(12)
            for text in ["\(part)", "\(CommandID())", "\(id)0", "..%00"] {
                let response = try await rig.get("/commands/\(text)\(suffix)")
                #expect([400, 404].contains(response.status), "\(text): \(response.text)")
            }
            #expect(try await rig.get("/commands/\(part)\(suffix)").problem == "command-not-found")
        }
    }

    @Test func `a command without a result says so`() async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            let response = try await rig.get("/commands/\(id)/result")
            #expect(response.status == 404 && response.problem == "no-result")
        }
    }
}

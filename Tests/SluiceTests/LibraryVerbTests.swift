import Commands
import Sluice
import Store
import TestSupport
import Testing

/// Schedules, uploads and explanations of the library.
@Suite struct LibraryVerbTests {
    @Test func `a schedule is put, paused, resumed, triggered and removed`() async throws {
        try await Rig.with { rig in
            let definition: JSONValue = ["cron": "30 2 * * *", "command": ["type": "noop", "payload": ["echo": 1]]]
            let made = try await rig.client.putSchedule("nightly", definition)
            #expect(made.name == "nightly" && made.zone == "UTC" && made.next != nil && !made.isPaused)
            #expect(try await rig.client.putSchedule("nightly", definition) == made)
            try await rig.client.pauseSchedule("nightly")
            #expect(try await rig.client.schedules().first?.isPaused == true)
            try await rig.client.resumeSchedule("nightly")
            let id = try #require(try await rig.client.trigger(schedule: "nightly").first)
            #expect(try await rig.client.command(id)?.type == "noop")
            #expect(try await rig.client.removeSchedule("nightly"))
            #expect(try await rig.client.removeSchedule("nightly") == false)
            #expect(try await rig.client.trigger(schedule: "nightly").isEmpty)
            let error = await #expect(throws: SluiceError.self) { try await rig.client.pauseSchedule("nightly") }
            #expect(error?.code == .invalid && error?.message.contains("nightly") == true)
        }
    }

    @Test func `a schedule that would submit what is refused is refused`() async throws {
        try await Rig.with { rig in
            let definitions: [JSONValue] = [
                ["cron": "30 2 * *", "command": ["type": "noop"]], ["cron": "@daily"],
                ["cron": "@daily", "zone": "Mars/Base", "command": ["type": "noop"]],
                ["cron": "@daily", "command": ["type": "other", "payload": [:]]],
                ["cron": "@daily", "command": ["type": "noop", "payload": [:], "limit": "none"]],
                ["cron": "@daily", "command": ["type": "noop", "payload": [:], "uniqueKey": "k"]],
                ["cron": "@daily", "jitter": "2h", "command": ["type": "noop", "payload": [:], "deadline": "1h"]],
            ]
            for definition in definitions {
                let error = await #expect(throws: SluiceError.self, "\(definition.text)") {
                    try await rig.client.putSchedule("nightly", definition)
                }
                #expect(error?.code == .invalid, "\(definition.text): \(String(describing: error))")
            }
            #expect(try await rig.client.schedules().isEmpty)
            try await rig.client.putSchedule(
                "nightly", ["cron": "@daily", "command": ["type": "other"]], allowUnknownTypes: true)
        }
    }

    @Test func `uploads are listed by state, and removed unless they have become commands`() async throws {
        try await Rig.with { rig in
            var ids: [CommandID] = []
            for index in 0..<3 {
                var facts = UploadFacts(origin: .tus)
                facts.fileName = "\(index).bin"
                let upload = Upload(id: CommandID(), length: 5, facts: facts, createdAt: .now)
                ids.append(upload.id)
                _ = try rig.store.apply([.create(upload)], shard: upload.id.shard(of: rig.store.shardCount))
            }
            ids.sort(by: >)
            let newest = try await rig.client.uploads(.open, limit: 2)
            #expect(
                newest.map(\.id) == Array(ids.prefix(2)) && newest.allSatisfy { $0.state == .open && $0.length == 5 })
            #expect(try await rig.client.uploads(after: newest[1].id).map(\.id) == Array(ids.suffix(1)))
            try await rig.client.removeUpload(ids[0], reason: "no longer wanted")
            try await rig.client.removeUpload(ids[0])
            let ended = try await rig.client.uploads(.ended)
            #expect(ended.map(\.id) == [ids[0]] && ended.first?.reason == "no longer wanted")
            let error = await #expect(throws: SluiceError.self) { try await rig.client.removeUpload(CommandID()) }
            #expect(error?.code == .noSuchCommand)
        }
    }

    @Test func `an explanation says what a command waits for`() async throws {
        try await Rig.with { rig in
            let id = try await rig.client.submit("noop", payload: ["echo": 1])
            let explanation = try await rig.client.explain(id)
            // No coordinator runs.
            #expect(explanation.sentences.contains { $0.contains("coordinator") }, "\(explanation.sentences)")
            #expect(explanation.json["gates"]?.elements?.isEmpty == false)
            try rig.execute(id)
            #expect(try await rig.client.explain(id).json["status"] == "success")
            let error = await #expect(throws: SluiceError.self) { try await rig.client.explain(CommandID()) }
            #expect(error?.code == .noSuchCommand)
        }
    }
}

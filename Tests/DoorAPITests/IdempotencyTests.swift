import Commands
import Door
import Queue
import Store
import TestSupport
import Testing

/// Requests with an `Idempotency-Key`.
struct IdempotencyTests {
    private static let noop: JSONValue = ["type": "noop", "payload": [:]]

    private func submit(
        _ rig: APIRig, _ body: JSONValue = noop, key: String = "one", token: String = "all"
    ) async throws -> APIResponse {
        try await rig.post("/commands", body, token: token, fields: [("Idempotency-Key", "\"\(key)\"")])
    }

    @Test(
        arguments: [
            ["type": "request", "payload": ["url": "https://hooks.example.com/"]],
            ["type": "noop", "payload": ["milliseconds": 7]], ["type": "noop", "payload": [:], "qos": "background"],
            ["type": "noop", "payload": [:], "orderingKey": "lane"], ["type": "noop", "payload": [:], "retryLimit": 1],
        ] as [JSONValue])
    func `a key belongs to one type, payload and set of options`(_ other: JSONValue) async throws {
        var allowance = SubmitAllowance()
        allowance.destinations = [try #require(Destination("https://hooks.example.com"))]
        try await APIRig.with(submit: allowance) { rig in
            for (first, second) in [(Self.noop, other), (other, Self.noop)] {
                let key = first == other ? "two" : "one"
                let made = try await submit(rig, first, key: key)
                #expect(made.status == 201, "\(made.text)")
                let refused = try await submit(rig, second, key: key)
                #expect(refused.status == 422 && refused.problem == "idempotency-key-conflict", "\(refused.text)")
                let again = try await submit(rig, first, key: key)
                #expect(try again.status == 200 && again.json["id"] == made.json["id"], "\(again.text)")
            }
        }
    }

    @Test func `a key belongs to one kind of request`() async throws {
        try await APIRig.with { rig in
            let fields = [("Idempotency-Key", "\"one\"")]
            func flow() async throws -> APIResponse {
                try await rig.send(
                    "POST", "/flows", fields: fields, type: "application/yaml",
                    body: Array("nodes:\n  a: {type: noop}\n".utf8))
            }
            func bulk() async throws -> APIResponse {
                try await rig.send(
                    "POST", "/commands/bulk", fields: fields, type: "application/x-ndjson", body: Self.noop.bytes)
            }
            let made = try await flow()
            #expect(made.status == 201, "\(made.text)")
            #expect(try await submit(rig).problem == "idempotency-key-conflict")
            let line = try JSONValue(parsing: try await bulk().body)
            #expect(line["problem"]?["status"] == 422, "\(line)")
            let again = try await flow()
            #expect(try again.status == 200 && again.json["id"] == made.json["id"], "\(again.text)")
        }
    }

    @Test func `a line of a bulk is not a single command, whatever the keys are`() async throws {
        try await APIRig.with { rig in
            let fields = [("Idempotency-Key", "\"a\"")]
            func bulk(_ body: [UInt8]) async throws -> JSONValue {
                let response = try await rig.send(
                    "POST", "/commands/bulk", fields: fields, type: "application/x-ndjson", body: body)
                return try JSONValue(parsing: response.body)
            }
            let line = try await bulk(Self.noop.bytes)
            for key in ["a:1", "a:0", "a#1", "a1"] {
                #expect(try await submit(rig, key: key).status == 201, "\(key)")
            }
            #expect(try await submit(rig, key: "a").problem == "idempotency-key-conflict")
            #expect(try await bulk(Self.noop.bytes)["id"] == line["id"])
        }
    }

    @Test(arguments: [CommandStatus.success, .cancelled, .tooManyTimes])
    func `a key lasts as long as its command`(_ status: CommandStatus) async throws {
        try await APIRig.with { rig in
            let made = try await submit(rig)
            let id = try #require(CommandID(try made.json["id"]?.string ?? ""))
            switch status {
            case .success: try rig.execute(id)
            case .cancelled: _ = try rig.store.cancel(id, reason: "no")
            default: try rig.execute(id, ending: .failure(CommandFailure(.final, reason: "refused")))
            }
            try #require(try rig.store.command(id)?.status == status)
            let again = try await submit(rig)
            #expect(again.status == 200, "\(again.text)")
            #expect(try again.json["id"]?.string == id.description)
            #expect(try again.json["status"]?.string == status.name)
        }
    }

    @Test func `a repeated request needs neither the source nor the rights of the first`() async throws {
        let directory = try TemporaryDirectory("idempotency")
        defer { directory.remove() }
        let file = try directory.file("a.bin", [1])
        var allowance = SubmitAllowance()
        allowance.types = ["upload"]
        allowance.destinations = [try #require(Destination("https://hooks.example.com"))]
        allowance.sources = [directory.path]
        try await APIRig.with(submit: allowance) { rig in
            let body: JSONValue = [
                "type": "upload", "payload": ["file": .string(file), "to": "https://hooks.example.com/in/"],
            ]
            let made = try await submit(rig, body)
            #expect(made.status == 201, "\(made.text)")
            directory.remove()
            let again = try await submit(rig, body)
            #expect(try again.status == 200 && again.json["id"] == made.json["id"], "\(again.text)")
        }
    }

    @Test func `of requests at one time a single one submits`() async throws {
        try await APIRig.with { rig in
            for number in 0..<20 {
                let responses = try await withThrowingTaskGroup(of: APIResponse.self) { group in
                    for milliseconds in 0..<4 {
                        group.addTask {
                            try await submit(
                                rig, ["type": "noop", "payload": ["milliseconds": .integer(Int64(milliseconds))]],
                                key: "key \(number)")
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(responses.count { $0.status == 201 } == 1, "\(responses.map(\.text))")
                #expect(responses.allSatisfy { [201, 409, 422].contains($0.status) }, "\(responses.map(\.text))")
            }
            #expect(try rig.store.counts()[.new] == 20)
        }
    }
}

import Commands
import Door
import Queue
import Store
import Testing

struct SubmitTests {
    @Test func `a command is submitted and shown where Location says`() async throws {
        try await APIRig.with { rig in
            let made = try await rig.post(
                "/commands", ["type": "noop", "payload": ["milliseconds": 1], "qos": "background", "retryLimit": 2])
            #expect(made.status == 201, "\(made.text)")
            let location = try #require(made["Location"])
            let id = try #require(try made.json["id"]?.string.flatMap { CommandID($0) })
            #expect(location.hasSuffix("/api/v1/commands/\(id)"))
            let command = try #require(try rig.store.command(id))
            #expect(command.qos == .background && command.retryLimit == 2)
            #expect(try await rig.get("/commands/\(id)")["ETag"] == made["ETag"])
        }
    }

    @Test func `an equal command with the unique key is found, another one conflicts`() async throws {
        try await APIRig.with { rig in
            let body: JSONValue = ["type": "noop", "payload": ["milliseconds": 1], "uniqueKey": "k"]
            let first = try await rig.post("/commands", body)
            let again = try await rig.post("/commands", body)
            #expect(first.status == 201 && again.status == 200)
            #expect(try first.json["id"] == again.json["id"])
            let other = try await rig.post(
                "/commands", ["type": "noop", "payload": ["milliseconds": 2], "uniqueKey": "k"])
            #expect(other.status == 409 && other.problem == "unique-key-conflict", "\(other.text)")
            #expect(try other.json["id"] == first.json["id"])
        }
    }

    @Test func `an idempotency key is of one token, and of one command`() async throws {
        try await APIRig.with { rig in
            let body: JSONValue = ["type": "noop", "payload": [:]]
            func submit(_ body: JSONValue, _ token: String = "submit+read/a") async throws -> APIResponse {
                try await rig.post("/commands", body, token: token, fields: [("Idempotency-Key", "\"one\"")])
            }
            let first = try await submit(body)
            #expect(try await submit(body).json["id"] == first.json["id"])
            #expect(try await submit(body, "submit+read/b").status == 201)
            let other = try await submit(["type": "noop", "payload": ["milliseconds": 7]])
            #expect(other.status == 422 && other.problem == "idempotency-key-conflict", "\(other.text)")
            let both = try await rig.post(
                "/commands", ["type": "noop", "payload": [:], "uniqueKey": "k"], fields: [("Idempotency-Key", "new")])
            #expect(both.status == 400 && both.problem == "invalid-command")
            let squatted = try await rig.post(
                "/commands", ["type": "noop", "payload": [:], "uniqueKey": "idempotency:submit+read/a:two"])
            #expect(squatted.status == 400 && squatted.problem == "invalid-command")
        }
    }

    @Test(arguments: [
        ("[]", "invalid-command"), ("{", "invalid-json"), ("{\"type\":\"noop\"}", "invalid-command"),
        ("{\"payload\":{}}", "invalid-command"), ("{\"type\":\"NOOP\",\"payload\":{}}", "invalid-command"),
        ("{\"type\":\"noop\",\"payload\":{},\"colour\":1}", "invalid-command"),
        ("{\"type\":\"noop\",\"payload\":{\"colour\":1}}", "invalid-command"),
        ("{\"type\":\"noop\",\"payload\":{},\"qos\":\"high\"}", "invalid-command"),
        ("{\"type\":\"noop\",\"payload\":{},\"uniqueFor\":\"1h\"}", "invalid-command"),
        ("{\"type\":\"noop\",\"payload\":{},\"retryLimit\":1001}", "invalid-command"),
    ])
    func `a command that cannot be is refused, and nothing is stored`(_ text: String, _ problem: String) async throws {
        try await APIRig.with { rig in
            let response = try await rig.send("POST", "/commands", type: "application/json", body: Array(text.utf8))
            #expect(response.status == 400 && response.problem == problem, "\(response.text)")
            #expect(try rig.store.counts()[.new] == 0)
        }
    }

    @Test func `a body of another type or size is refused`() async throws {
        try await APIRig.with { rig in
            let body = Array("{\"type\":\"noop\",\"payload\":{}}".utf8)
            for type in ["application/json; charset=UTF-8", "application/json;charset=\"utf-8\""] {
                #expect(try await rig.send("POST", "/commands", type: type, body: body).status == 201, "\(type)")
            }
            // Some clients write each number with a fraction.
            let fraction = try await rig.send(
                "POST", "/commands", type: "application/json",
                body: Array("{\"type\":\"noop\",\"payload\":{},\"retryLimit\":5.0}".utf8))
            #expect(fraction.status == 201, "\(fraction.text)")
            for type in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16"] {
                let response = try await rig.send("POST", "/commands", type: type, body: body)
                #expect(response.status == 415 && response.problem == "unsupported-media-type")
            }
            let long = Array("{\"type\":\"noop\",\"payload\":\"".utf8) + [UInt8](repeating: 0x41, count: 3 << 20)
            let response = try await rig.send("POST", "/commands", type: "application/json", body: long)
            #expect(response.status == 413 && response.problem == "too-large")
            let text = String(repeating: "a", count: Command.payloadLimit)
            let payload = try await rig.post("/commands", ["type": "noop", "payload": ["a": .string(text)]])
            #expect(payload.status == 413 && payload.problem == "too-large")
        }
    }

    @Test func `bulk answers each line in order`() async throws {
        try await APIRig.with { rig in
            let lines = [
                "{\"type\":\"noop\",\"payload\":{}}", "", "{\"type\":\"exec\",\"payload\":{\"program\":\"a\"}}",
                "nonsense", "{\"type\":\"noop\",\"payload\":{\"milliseconds\":3}}",
            ]
            func submit() async throws -> [JSONValue] {
                let response = try await rig.send(
                    "POST", "/commands/bulk", fields: [("Idempotency-Key", "\"bulk\"")], type: "application/x-ndjson",
                    body: Array(lines.joined(separator: "\n").utf8))
                #expect(response.status == 200 && response["Content-Type"] == "application/x-ndjson")
                return try response.body.split(separator: UInt8(ascii: "\n")).map { try JSONValue(parsing: Array($0)) }
            }
            let results = try await submit()
            #expect(results.map { $0["line"]?.integer } == [1, 3, 4, 5])
            #expect(results.map { $0["problem"]?["status"]?.integer } == [nil, 403, 400, nil])
            #expect(try rig.store.counts()[.new] == 2)
            // The repetition of a bulk whose answer was lost.
            let again = try await submit()
            #expect(again.map { $0["id"] } == results.map { $0["id"] })
            #expect(again.first?["existing"] == true)
        }
    }

    @Test func `a flow is submitted as YAML or JSON`() async throws {
        try await APIRig.with { rig in
            let yaml = "name: pair\nnodes:\n  a: {type: noop}\n  b: {type: noop, after: a}\n"
            let made = try await rig.send("POST", "/flows", type: "application/yaml", body: Array(yaml.utf8))
            #expect(made.status == 201, "\(made.text)")
            let id = try #require(try made.json["id"]?.string)
            #expect(made["Location"]?.hasSuffix("/api/v1/flows/\(id)") == true)
            let flow = try await rig.get("/flows/\(id)").json
            #expect(flow["nodes"]?.elements?.compactMap { $0["name"]?.string } == ["a", "b"])
            let page = try await rig.get("/flows/\(id)?limit=1").json
            #expect(page["nodes"]?.elements?.count == 1 && page["next"]?.string != nil)
            #expect(try await rig.get("/flows").json["flows"]?.elements?.first?["name"]?.string == "pair")
            let json: JSONValue = ["nodes": ["a": ["type": "noop", "after": "c"]]]
            let refused = try await rig.post("/flows", json)
            #expect(refused.status == 400 && refused.problem == "invalid-flow", "\(refused.text)")
            let cycle: JSONValue = [
                "nodes": ["a": ["type": "noop", "after": "b"], "b": ["type": "noop", "after": "a"]]
            ]
            let circular = try await rig.post("/flows", cycle)
            #expect(circular.status == 400 && circular.problem == "invalid-flow", "\(circular.text)")
            let near = try await rig.post("/flows", ["nodes": [:], "qso": "utility"])
            #expect(try near.json["detail"]?.string?.hasSuffix("is it “qos”?") == true, "\(near.text)")
        }
    }
}

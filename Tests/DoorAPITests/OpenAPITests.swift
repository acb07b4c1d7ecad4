import Commands
import Door
import HTTPTypes
import Queue
import Settings
import Store
import TestSupport
import Testing

struct OpenAPITests {
    private struct Operation: Hashable, CustomStringConvertible {
        var method: String
        var path: String
        var scopes: Set<String>

        var description: String { "\(method) \(path) \(scopes.sorted())" }
    }

    private func document(_ rig: APIRig) async throws -> JSONValue {
        let response = try await rig.get("/openapi.json", token: nil)
        #expect(response.status == 200)
        return try response.json
    }

    /// The operations of the document, by method and path. Streams of events are of another module.
    private func operations(_ document: JSONValue) -> [(method: String, path: String, value: JSONValue)] {
        (document["paths"]?.members ?? []).flatMap { path in
            (path.value.members ?? []).map { ($0.name.uppercased(), path.name, $0.value) }
        }.filter { $0.value["tags"] != ["events"] }
    }

    @Test func `the document has each endpoint with its scopes, and no other`() async throws {
        try await APIRig.with { rig in
            let described = operations(try await document(rig)).map { method, path, value in
                let scopes = value["security"]?.elements?.first?["token"]?.elements?.compactMap(\.string) ?? []
                return Operation(method: method, path: path, scopes: Set(scopes))
            }
            let served = rig.endpoints.filter { $0.path.hasPrefix("/api/v1/") }.flatMap { endpoint in
                endpoint.methods.map { method, rule in
                    Operation(
                        method: method.rawValue, path: String(endpoint.path.dropFirst("/api/v1".count)),
                        scopes: Set((rule.scopes ?? []).map(\.rawValue)))
                }
            }
            let missing = Set(served).subtracting(described)
            let invented = Set(described).subtracting(served)
            #expect(missing.isEmpty, "not described: \(missing)")
            #expect(invented.isEmpty, "not served: \(invented)")
            #expect(described.count == Set(described).count)
        }
    }

    @Test func `every reference leads to a part of the document`() async throws {
        try await APIRig.with { rig in
            let document = try await document(rig)
            let check = SchemaCheck(document: document)
            func visit(_ value: JSONValue) {
                if let reference = value["$ref"]?.string { #expect(check.resolve(reference) != nil, "\(reference)") }
                for member in value.members ?? [] { visit(member.value) }
                for element in value.elements ?? [] { visit(element) }
            }
            visit(document)
        }
    }

    /// Generators of clients drop a schema, and all that refers to it, for a name without a property.
    @Test func `every required member is described, and every array has items`() async throws {
        try await APIRig.with { rig in
            let document = try await document(rig)
            var (required, arrays) = (0, 0)
            func visit(_ value: JSONValue, _ path: String) {
                if let names = value["required"]?.elements?.compactMap(\.string) {
                    let known = Set((value["properties"]?.members ?? []).map(\.name))
                    #expect(names.allSatisfy { known.contains($0) }, "\(path): \(names) of \(known.sorted())")
                    required += 1
                }
                let types = value["type"]?.elements ?? value["type"].map { [$0] } ?? []
                if types.contains("array") {
                    #expect(value["items"] != nil, "\(path)")
                    arrays += 1
                }
                for member in value.members ?? [] { visit(member.value, "\(path)/\(member.name)") }
                for (index, element) in (value.elements ?? []).enumerated() { visit(element, "\(path)/\(index)") }
            }
            visit(document, "")
            #expect(required > 10 && arrays > 10)
        }
    }

    @Test func `the examples of bodies are valid, and are accepted`() async throws {
        try await APIRig.with { rig in
            let document = try await document(rig)
            let check = SchemaCheck(document: document)
            let webhook = WebhookEndpointSetting(
                name: "billing", origin: try #require(Destination("https://hooks.example.com")))
            try rig.store.set(WebhookEndpointSetting.key(webhook.name), to: webhook.value)
            var count = 0
            for (method, path, operation) in operations(document) {
                guard let body = operation["requestBody"].map(check.resolved),
                    let content = body["content"]?["application/json"], let schema = content["schema"]
                else { continue }
                let example = try #require(content["example"], "\(path) has no example")
                #expect(check.problems(example, schema) == [], "\(method) \(path)")
                let id = try await rig.client.submit("noop", payload: [:])
                if path.hasSuffix("resolve") {
                    try rig.claim(id)
                    let ending = ExecutionResult.released(reason: "cut", ambiguous: true)
                    _ = try rig.store.apply(
                        [.end(id, claim: 1, ending)], shard: id.shard(of: rig.store.shardCount), seat: 0, epoch: 7)
                }
                let url = path.replacing("{id}", with: "\(id)").replacing("{destination}", with: "https:a.example:443")
                    .replacing("webhooks/{name}", with: "webhooks/\(webhook.name)").replacing("{name}", with: "a")
                let response = try await rig.send(method, url, type: "application/json", body: example.bytes)
                #expect((200...202).contains(response.status), "\(method) \(url): \(response.text)")
                count += 1
            }
            #expect(count >= 8)
        }
    }

    @Test func `responses have the form that the document describes`() async throws {
        try await APIRig.with { rig in
            let document = try await document(rig)
            let check = SchemaCheck(document: document)
            let id = try await rig.client.submit("noop", payload: [:])
            try rig.claim(id)
            let flow = try await rig.post("/flows", ["nodes": ["a": ["type": "noop"]]])
            let flowID = try #require(try flow.json["id"]?.string)
            let run = try await rig.post("/commands/actions", ["verb": "cancel", "filter": ["status": "error"]])
            let runID = try #require(try run.json["id"]?.string)
            for (method, path, operation) in operations(document) where method == "GET" {
                var url = path.replacing("{destination}", with: "https:a.example:443").replacing("{name}", with: "a")
                let subject = path.hasPrefix("/flows") ? flowID : path.hasPrefix("/actions") ? runID : "\(id)"
                url = url.replacing("{id}", with: subject)
                let response = try await rig.get(url)
                let described = operation["responses"]?["\(response.status)"] ?? operation["responses"]?["default"]
                let content = described.map(check.resolved)?["content"]?.members?.first
                let schema = try #require(content?.value["schema"], "\(url): \(response.status)")
                #expect(response["Content-Type"] == content?.name, "\(url)")
                #expect(check.problems(try response.json, schema) == [], "\(url)")
            }
        }
    }
}

import Commands
import Door
import HTTPTypes
import Queue
import Store
import Testing

/// Requests that no client sends by accident.
struct HostileRequestTests {
    private static func path(_ endpoint: Endpoint) -> String {
        String(endpoint.path.dropFirst("/api/v1".count)).replacing("{id}", with: "\(CommandID())")
            .replacing("{name}", with: "a").replacing("{destination}", with: "https:a.example:443")
    }

    @Test func `each endpoint names its methods, has HEAD where it has GET, and no other`() async throws {
        try await APIRig.with { rig in
            for endpoint in rig.endpoints where endpoint.path.hasPrefix("/api/v1") {
                let path = Self.path(endpoint)
                let options = try await rig.send("OPTIONS", path, token: nil)
                let allowed = Set((options["Allow"] ?? "").split(separator: ", ").map(String.init))
                let isRead = endpoint.methods[.get] != nil
                #expect(options.status == 204 && options.body.isEmpty, "\(endpoint.path)")
                let methods = endpoint.methods.keys.map(\.rawValue)
                #expect(allowed == Set(methods + ["OPTIONS"] + (isRead ? ["HEAD"] : [])), "\(endpoint.path)")
                for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE"] where !allowed.contains(method)
                {
                    let refused = try await rig.send(method, path)
                    #expect(refused.status == 405 && refused["Allow"] == options["Allow"], "\(method) \(endpoint.path)")
                }
                guard isRead else { continue }
                let (get, head) = (try await rig.get(path), try await rig.send("HEAD", path))
                #expect(head.status == get.status && head.body.isEmpty, "\(endpoint.path)")
                #expect(head["Content-Type"] == get["Content-Type"], "\(endpoint.path)")
            }
        }
    }

    @Test(arguments: [
        String(repeating: "[", count: 60_000), String(repeating: "{\"a\":", count: 10_000),
        "{\"type\":\"noop\",\"type\":\"noop\",\"payload\":{}}",
        "{\"type\":\"noop\",\"payload\":{\"milliseconds\":1,\"milliseconds\":2}}",
        // The same name in other letters of JSON.
        "{\"type\":\"noop\",\"payload\":{},\"\\u0074ype\":\"noop\"}",
        "{\"type\":\"noop\",\"payload\":{\"a\":\"\\ud800\"}}",
        "{\"type\":\"noop\",\"payload\":{\"a\":\"\\udc00\\ud800\"}}",
        "{\"type\":\"noop\",\"payload\":{\"\\ud800x\":1}}", "{\"type\":\"noop\",\"payload\":{},\"retryLimit\":1e400}",
        "{\"type\":\"noop\",\"payload\":{},\"retryLimit\":9223372036854775808}",
        "{\"type\":\"noop\",\"payload\":{},\"retryLimit\":1.5}", "{\"type\":\"noop\",\"payload\":{},\"keyLimit\":-1}",
        "{\"type\":\"noop\",\"payload\":{},\"deadline\":\"99999999999999h\"}",
        "{\"type\":\"noop\",\"payload\":{},\"notBefore\":\"9999-12-31T23:59:60.999999999Z\",\"x\":1}",
        "{\"type\":\"noop\",\"payload\":{\"milliseconds\":-9223372036854775808}}", "\u{FEFF}{}", "{}{}", "null",
        "\u{0}", "",
    ])
    func `a body that a parser could read in two ways is refused`(_ text: String) async throws {
        try await APIRig.with { rig in
            let response = try await rig.send("POST", "/commands", type: "application/json", body: Array(text.utf8))
            #expect(response.status == 400, "\(response.text)")
            // A problem quotes a part of what it refuses, at most.
            #expect(response.body.count < 2_000)
            #expect(try rig.store.counts()[.new] == 0)
        }
    }

    @Test(arguments: [
        "{\"type\":\"noop\",\"payload\":{},\"qos\":\"X\"}", "{\"type\":\"noop\",\"payload\":{},\"X\":1}",
        "{\"type\":\"noop\",\"payload\":{\"X\":1}}", "{\"type\":\"noop\",\"payload\":{},\"notBefore\":\"X\"}",
        "{\"type\":\"X\",\"payload\":{}}", "{\"type\":\"noop\",\"payload\":{},\"after\":\"X\"}", "{\"X\":1,\"X\":1}",
    ])
    func `a problem quotes a part of a long text`(_ form: String) async throws {
        try await APIRig.with { rig in
            let body = Array(form.replacing("X", with: String(repeating: "x", count: 200_000)).utf8)
            let response = try await rig.send("POST", "/commands", type: "application/json", body: body)
            #expect(response.status == 400 || response.status == 403, "\(response.text)")
            #expect(response.body.count < 2_000, "\(response.text.prefix(100))")
        }
    }

    @Test func `a coded body, and one without a type, are refused by what they lack`() async throws {
        try await APIRig.with { rig in
            let body = Array("{\"type\":\"noop\",\"payload\":{}}".utf8)
            for (coding, status) in [("gzip", 415), ("identity", 201)] {
                let response = try await rig.send(
                    "POST", "/commands", fields: [("Content-Encoding", coding)], type: "application/json", body: body)
                #expect(response.status == status, "\(response.text)")
                #expect(status == 201 || response.problem == "unsupported-content-encoding")
            }
            let untyped = try await rig.send("POST", "/pause", body: Array("qos=utility".utf8))
            #expect(untyped.status == 415 && untyped.problem == "unsupported-media-type", "\(untyped.text)")
            #expect(try rig.store.counts()[.new] == 1)
        }
    }

    @Test(arguments: [[0xFF], [0xED, 0xA0, 0x80], [0xC0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]])
    func `bytes that are not UTF-8 are refused`(_ bytes: [UInt8]) async throws {
        try await APIRig.with { rig in
            let body = Array("{\"type\":\"noop\",\"payload\":{\"a\":\"".utf8) + bytes + Array("\"}}".utf8)
            let response = try await rig.send("POST", "/commands", type: "application/json", body: body)
            #expect(response.status == 400 && response.problem == "invalid-json", "\(response.text)")
        }
    }

    @Test(arguments: [
        "/commands?limit=9223372036854775808", "/commands?limit=-1", "/commands?limit=1e3", "/commands?limit=0x10",
        "/commands?limit=%D9%A1", "/commands?cursor=n", "/commands?cursor=x00000000-0000-7000-8000-000000000000",
        "/commands?from=292277026596-12-04T15:30:08Z", "/commands?before=0000-00-00T00:00:00Z",
        "/commands?status[]=new",
        "/uploads?cursor=o00000000-0000-7000-8000-000000000000", "/uploads?limit=1001", "/uploads?state=",
        "/flows?limit=99999999999999999999", "/commands/ID?wait=99999999999999999999", "/commands/ID?wait=-1",
        "/flows/ID?cursor=1e9", "/commands?q=%00", "/commands?q=%ED%A0%80", "/commands?q=%F",
    ])
    func `a query that no number or text holds is refused`(_ path: String) async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            let response = try await rig.get(path.replacing("ID", with: "\(id)"))
            #expect(response.status == 400, "\(path): \(response.text)")
        }
    }

    @Test(arguments: [
        "/flows/ID?cursor=-9223372036854775808", "/flows/ID?cursor=9223372036854775807", "/commands/ID?wait=0",
        "/commands?cursor=nffffffff-ffff-ffff-ffff-ffffffffffff",
        "/commands?cursor=o00000000-0000-0000-0000-000000000000",
        "/commands?from=9999-12-31T23:59:59Z", "/commands?before=0001-01-01T00:00:00Z", "/schedules/none?times=1000",
        "/commands?status=new&cursor=nffffffff-ffff-7fff-bfff-ffffffffffff&type=noop",
    ])
    func `an extreme value is answered`(_ path: String) async throws {
        try await APIRig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            let response = try await rig.get(path.replacing("ID", with: "\(id)"))
            #expect([200, 400, 404].contains(response.status), "\(path): \(response.text)")
        }
    }
}

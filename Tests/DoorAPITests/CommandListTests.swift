import Commands
import DoorAPI
import Queue
import Testing

struct CommandListTests {
    @Test func `pages hold every command once, in both orders`() async throws {
        try await APIRig.with { rig in
            var ids: [CommandID] = []
            for _ in 0..<25 { ids.append(try await rig.client.submit("noop", payload: [:])) }
            for order in ["old", "new"] {
                var found: [String] = []
                var path = "/commands?order=\(order)&limit=10"
                while true {
                    let page = try await rig.get(path)
                    #expect(page.status == 200)
                    found += try page.json["commands"]?.elements?.compactMap { $0["id"]?.string } ?? []
                    guard let next = try page.json["next"]?.string else {
                        #expect(page["Link"] == nil)
                        break
                    }
                    let link = try #require(page["Link"])
                    #expect(link.hasSuffix("; rel=\"next\"") && link.contains("limit=10") && link.contains(next))
                    let url = try #require(link.dropFirst().split(separator: ">").first)
                    let start = try #require(url.firstRange(of: "/api/v1"))
                    path = String(url[start.upperBound...])
                }
                let expected = order == "old" ? ids.sorted() : ids.sorted().reversed()
                #expect(found == expected.map(\.description))
            }
        }
    }

    @Test func `filters select by status, type, quality, time and name`() async throws {
        try await APIRig.with { rig in
            var options = SubmitOptions()
            options.qos = .background
            let slow = try await rig.client.submit("noop", payload: [:], options: options)
            let get = try await rig.client.submit(
                "request", payload: ["url": "https://media.example.com/clip-0042.mov"])
            let done = try await rig.client.submit("noop", payload: [:])
            try rig.execute(done)
            func ids(_ query: String) async throws -> [String] {
                let page = try await rig.get("/commands?\(query)")
                #expect(page.status == 200, "\(page.text)")
                return try page.json["commands"]?.elements?.compactMap { $0["id"]?.string } ?? []
            }
            #expect(try await ids("status=success") == [done.description])
            for query in ["status=success&status=error", "status=success,error"] {
                #expect(try await ids(query) == [done.description])
            }
            #expect(try await ids("status=new&status=success").count == 3)
            #expect(try await ids("qos=background") == [slow.description])
            #expect(try await ids("type=request") == [get.description])
            #expect(try await ids("destination=https://media.example.com/x") == [get.description])
            #expect(try await ids("q=clip-0042") == [get.description])
            #expect(try await ids("before=2020-01-01T00:00:00Z") == [])
            #expect(try await ids("from=2020-01-01T00:00:00Z").count == 3)
        }
    }

    @Test(arguments: [
        "status=done", "qos=high", "destination=nowhere", "type=A", "batch=1", "limit=0", "limit=1001", "limit=ten",
        "order=up", "cursor=x", "cursor=n1", "status=new,done", "status=new&status=", "from=yesterday", "statuz=new",
        "limit=1&limit=2", "q=",
    ])
    func `a query of another form is an error that names its parameter`(_ query: String) async throws {
        try await APIRig.with { rig in
            let response = try await rig.get("/commands?\(query)")
            #expect(response.status == 400 && response.problem == "invalid-query", "\(response.text)")
            let name = try #require(query.split(separator: "=").first)
            #expect(response.text.contains("“\(name)”"), "\(response.text)")
        }
    }

    @Test func `a cursor of the other order is refused`() async throws {
        try await APIRig.with { rig in
            for _ in 0..<2 { try await rig.client.submit("noop", payload: [:]) }
            let cursor = try #require(try await rig.get("/commands?limit=1").json["next"]?.string)
            #expect(try await rig.get("/commands?order=old&cursor=\(cursor)").problem == "invalid-query")
            #expect(try await rig.get("/commands?order=new&cursor=\(cursor)").status == 200)
        }
    }
}

import Commands
import HTTPClient
import TestSupport
import Testing

@testable import Transfers

/// The limits of commands that came over HTTP.
struct ConfinementTests {
    private func confinement(_ destinations: [String], networks: [String] = []) throws -> Confinement {
        var confinement = Confinement()
        confinement.destinations = Set(try destinations.map { try #require(Destination($0)) })
        confinement.networks = try networks.map { try #require(IPNetwork($0)) }
        return confinement
    }

    @Test(arguments: [
        // A name, and an address written in a form that is resolved like one.
        ("media.example.com", "8.8.8.8", true), ("media.example.com", "127.0.0.1", false),
        ("media.example.com", "10.9.0.1", false), ("media.example.com", "192.168.7.1", true),
        ("media.example.com", "::ffff:192.168.7.1", true), ("media.example.com", "64:ff9b::192.168.7.1", true),
        ("media.example.com", "::1", false), ("127.1", "127.0.0.1", false), ("2130706433", "127.0.0.1", false),
        // A listed address is meant, and so is localhost; names below it are names.
        ("127.0.0.1", "127.0.0.1", true), ("10.9.0.1", "10.9.0.1", true), ("::1", "::1", true),
        ("10.9.0.1", "127.0.0.1", false), ("localhost", "127.0.0.1", true), ("localhost", "::1", true),
        ("localhost", "10.9.0.1", false), ("a.localhost", "127.0.0.1", false),
    ])
    func `a name leads to public addresses and listed networks only`(
        _ host: String, _ address: String, _ isPermitted: Bool
    ) throws {
        let confinement = try confinement([], networks: ["192.168.7.0/24"])
        let objection = confinement.objection(toHost: host, at: try #require(IPNetwork(address)))
        #expect((objection == nil) == isPermitted, "\(objection ?? "permitted")")
        if let objection {
            #expect(objection.contains(host) && objection.contains("door.submit.networks"), "\(objection)")
        }
    }

    @Test func `a name that leads to this machine is refused when it is connected to`() async throws {
        try await RequestHarness.with("* * : answer 200") { harness in
            // As a name server could answer: getaddrinfo(3) makes 127.0.0.1 of it.
            let url = "http://127.1:\(harness.server.port)"
            let payload: JSONValue = ["url": .string("\(url)/a"), "confined": true]
            let refused = try await harness.confined(try confinement([url])).outcome(payload)
            #expect(refused.failure?.fault == .final && refused.failure?.ambiguous == false, "\(refused)")
            for word in ["127.1", "127.0.0.1", "door.submit.networks"] {
                #expect(refused.failure?.reason.contains(word) == true, "\(refused)")
            }
            #expect(harness.server.connections == 0)
            let listed = try confinement([url], networks: ["127.0.0.0/8"])
            #expect(try await harness.confined(listed).outcome(payload).result?["status"] == 200)
            #expect(harness.server.connections == 1)
        }
    }

    @Test func `a connection of another command is not used by a confined one`() async throws {
        try await RequestHarness.with("* * : answer 200") { harness in
            let url = "http://127.1:\(harness.server.port)"
            let confined = harness.confined(try confinement([url]))
            let open = try await confined.outcome(["url": .string("\(url)/a")])
            #expect(open.result?["status"] == 200, "\(open)")
            let refused = try await confined.outcome(["url": .string("\(url)/a"), "confined": true])
            #expect(refused.failure?.fault == .final, "\(refused)")
            #expect(harness.server.requests.count == 1)
        }
    }

    @Test func `a redirect leads neither to another origin nor to another address`() async throws {
        try await RequestHarness.with("* * : answer 200") { harness in
            let (port, origin) = (harness.server.port, harness.server.origin)
            let payload: JSONValue = ["url": .string("\(origin)/start"), "redirects": 5, "confined": true]
            harness.server.on("/start", .answer(302, headers: ["Location": "http://127.1:\(port)/inside"]))
            let other = try await harness.confined(try confinement([origin])).outcome(payload)
            #expect(other.failure?.fault == .final, "\(other)")
            #expect(other.failure?.reason.contains("door.submit.destinations") == true, "\(other)")
            let listed = try confinement([origin, "http://127.1:\(port)"])
            let address = try await harness.confined(listed).outcome(payload)
            #expect(address.failure?.reason.contains("door.submit.networks") == true, "\(address)")
            #expect(harness.server.requests(to: "/inside").isEmpty)
        }
    }

    @Test func `a destination that is listed no more is refused when the command runs`() async throws {
        try await RequestHarness.with("* * : answer 200") { harness in
            let outcome = try await harness.confined(Confinement()).outcome(
                ["url": harness.url("/a"), "confined": true])
            #expect(outcome.failure?.fault == .final, "\(outcome)")
            #expect(outcome.failure?.reason.contains("door.submit.destinations") == true, "\(outcome)")
            #expect(harness.server.connections == 0)
        }
    }

    @Test(arguments: [false, true])
    func `an upload of any protocol is refused before its first request`(_ isTus: Bool) async throws {
        let server = try await ScriptedServer()
        try await stopping(server) {
            let url = "http://127.1:\(server.port)"
            let directory = try TemporaryDirectory("confined")
            defer { directory.remove() }
            var configuration = HTTPConfiguration()
            configuration.confinement = try confinement([url])
            configuration.confinement.sources = [directory.path]
            let harness = try UploadHarness(configuration: configuration, directory: directory)
            let file = try directory.file("a.bin", [1, 2, 3])
            let extra: [JSONValue.Member] = [.init("confined", true)] + (isTus ? [.init("protocol", "tus")] : [])
            let failure = try await harness.failure(file: file, to: "\(url)/files/", extra: extra)
            #expect(failure.fault == .final && failure.reason.contains("door.submit.networks"), "\(failure.reason)")
            #expect(server.connections == 0)
        }
    }

    @Test func `a proxy is connected to wherever it is`() async throws {
        try await RequestHarness.with("* * : answer 200") { harness in
            var configuration = HTTPConfiguration()
            configuration.confinement = try confinement(["http://media.example.com"])
            configuration.client.proxies.general = .some(try HTTPProxy("http://127.1:\(harness.server.port)"))
            let outcome = try await harness.using(configuration).outcome(
                ["url": "http://media.example.com/a", "confined": true])
            #expect(outcome.result?["status"] == 200, "\(outcome)")
        }
    }
}

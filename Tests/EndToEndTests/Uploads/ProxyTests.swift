import Commands
import TestSupport
import Testing

extension EndToEndTests {
    /// Proxies from the environment, by the rules of curl (curl(1), ENVIRONMENT).
    @Suite struct ProxyTests {
        @Test func `uploads use the proxy of the environment, except for hosts in no_proxy`() async throws {
            try await Installation.with { installation in
                let server = try await installation.receiver()
                let proxy = try await installation.receiver()
                try proxy.run("* http://* : forward 127.0.0.1:\(server.port)")
                let environment: [String: String?] = ["http_proxy": proxy.origin, "no_proxy": "127.0.0.1"]
                _ = try await installation.up(environment: environment)
                let bytes: [UInt8] = Array(repeating: 7, count: 300_000)
                let file = try installation.directory.file("a.bin", bytes)
                for origin in [server.origin, "http://media.invalid"] {
                    let put = try await installation.sluice(
                        "put", file, "--to", "\(origin)/in/", "--protocol", "put", "--wait", environment: environment,
                        within: .seconds(20))
                    #expect(put.code == 0, "\(put.errors)")
                }
                #expect(proxy.requests.map(\.target) == ["http://media.invalid/in/a.bin"])
                #expect(server.requests.map(\.target) == ["/in/a.bin", "/in/a.bin"])
                let holdsIt = server.holds("/in/a.bin", bytes)
                #expect(holdsIt)
            }
        }

        @Test func `doctor and explain show the proxy`() async throws {
            try await Installation.with { installation in
                let proxy = "127.0.0.1:\(try freePort())"
                let environment: [String: String?] = ["https_proxy": "http://u:hush@\(proxy)"]
                _ = try await installation.up(environment: environment)
                let doctor = try await installation.sluice("doctor", environment: environment)
                #expect(doctor.output.contains(proxy) && !doctor.output.contains("hush"), "\(doctor.output)")
                let file = try installation.directory.file("a.bin", [1])
                let id = try await installation.sluice(
                    "put", file, "--to", "https://media.invalid/a", "--protocol", "put", environment: environment
                ).ids[0]
                try await until("an explanation that names the proxy") {
                    let explained = try await installation.sluice("explain", "\(id)", environment: environment)
                    return explained.output.contains(proxy) && !explained.output.contains("hush")
                }
            }
        }
    }
}

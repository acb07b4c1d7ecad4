import Commands
import Foundation
import Glibc
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The policy in the configuration, `sluice network set`, and the output of `sluice network`.
    struct NetworkCommandTests {
        @Test(arguments: [
            ("network:\n  maxTransfer: 3\n", "network.maxTransfer"),
            ("network:\n  level:\n    poor: {utility: fast}\n", "network.level.poor.utility"),
            ("network:\n  level: high\n", "network.level"),
            ("destinations: [a]\n", "destination.a.origin"),
            ("destination: {a: {maxRate: 2Mbit}}\n", "destination.a.maxRate"),
            ("netwrk: {floor: 5%}\n", "netwrk.floor"), ("upload: {idleTimeout: 30x}\n", "upload.idleTimeout"),
            ("credentials: media\n", "credentials"),
            ("credential: {media: {bearerFile: /run/token}}\n", "credential.media.bearerFile"),
        ])
        func `an invalid configuration is refused with its key, by every process`(
            _ yaml: String, _ key: String
        ) async throws {
            try await Installation.with { installation in
                let file = try installation.directory.file("wrong.yaml", Array(yaml.utf8))
                for part in ["up", "coordinator", "worker"] {
                    let refused = try await installation.sluice(part, "--config", file)
                    #expect(refused.code == 78, "\(part): \(refused.errors)")
                    #expect(refused.errors.contains("configuration: \(key):"), "\(refused.errors)")
                }
            }
        }

        @Test func `an unreachable configuration is an error, and a file of comments has the defaults`()
            async throws
        {
            try await Installation.with { installation in
                _ = try await installation.sluice("submit", "noop")
                let file = "\(installation.data)/sluice.yaml"
                #expect(symlink("/nonexistent/sluice.yaml", file) == 0)
                let refused = try await installation.sluice("worker")
                #expect(refused.code == 78 && refused.errors.contains("cannot read"), "\(refused.errors)")
                unlink(file)
                try Data("# nothing yet\n".utf8).write(to: URL(fileURLWithPath: file))
                _ = try await installation.up(environment: [
                    "SLUICE_CREDENTIALS": "media", "SLUICE_CREDENTIAL_MEDIA_ORIGIN": "https://media.example.com",
                    "SLUICE_CREDENTIAL_MEDIA_BEARER_ENVIRONMENT": "SLUICE_CREDENTIAL_TOKEN",
                    "SLUICE_CREDENTIAL_TOKEN": "hush", "SLUICE_DESTINATIONS": "",
                ])
            }
        }

        @Test func `environment variables set keys of the policy`() async throws {
            try await Installation.with { installation in
                let refused = try await installation.sluice(
                    "coordinator", environment: ["SLUICE_NETWORK_LEVEL_POOR_UTILITY": "sometimes"])
                #expect(refused.code == 78, "\(refused.errors)")
                #expect(refused.errors.contains("network.level.poor.utility"), "\(refused.errors)")
            }
        }

        // MARK: sluice network set

        @Test func `network set holds a destination offline and limits it without a coordinator`() async throws {
            try await Installation.with { installation in
                let id = try await installation.sluice(
                    "submit", "upload", "--payload", #"{"file":"/etc/hostname","to":"http://a.example:80/x"}"#
                ).ids[0]
                let offline = try await installation.sluice(
                    "network", "set", "http://a.example/some/path", "--level", "offline", "--json")
                #expect(offline.code == 0, "\(offline.errors)")
                let said = try offline.json()
                #expect(said["destination"]?.string == "http://a.example:80" && said["level"]?.string == "offline")
                let limited = try await installation.sluice("network", "set", "http://a.example", "--max-rate", "2Mbit")
                #expect(limited.output.contains("held offline") && limited.output.contains("250 kB/s"))
                let store = try installation.store()
                let setting = try store.settings(prefix: "network.")["network.http://a.example:80"]
                #expect(
                    setting?.hasPrefix(#"{"level":"offline","maxRate":250000,"since":"#) == true, "\(setting ?? "-")")

                let explained = try await installation.sluice("explain", "\(id)")
                #expect(explained.output.contains("held offline by a person since"), "\(explained.output)")
                #expect(explained.output.contains("“sluice network set http://a.example:80 --level auto” lifts it"))
                let shown = try await installation.sluice("network", "--json").json()
                #expect(shown["forced"]?.bool == true && shown["maxRate"]?.integer == 250_000)
                #expect(shown["level"]?.string == "offline")
                #expect(try await installation.status()?["links"]?.elements?.count == 1)

                for arguments in [["--level", "auto"], ["--max-rate", "none"]] {
                    let lifted = try await installation.run(
                        program: "\(Installation.bin)/sluice", ["network", "set", "http://a.example"] + arguments)
                    #expect(lifted.code == 0, "\(lifted.errors)")
                }
                #expect(try store.settings(prefix: "network.").isEmpty)
                #expect(try await installation.sluice("network").output.contains("no link is known"))
            }
        }

        @Test(arguments: [
            ["media"], ["http://a"], ["http://a", "--level", "good"], ["http://a", "--max-rate", "fast"],
            ["http://a", "--max-rate", "999"], ["http://a", "--max-rate", "2mb"], ["ftp://a", "--level", "auto"],
        ])
        func `invalid arguments of network set are refused`(_ arguments: [String]) async throws {
            try await Installation.with { installation in
                let refused = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["network", "set"] + arguments)
                #expect(refused.code == 64, "\(refused.errors)")
            }
        }

        // MARK: Output

        /// A link as a coordinator stores it, and two as one of version 0.1.0 did.
        private func leave(_ installation: Installation) async throws {
            #expect(try await installation.sluice("submit", "noop").code == 0)
            let store = try installation.store()
            try store.set(
                "link.up.http://a.example:80",
                to: """
                    {"direction":"up","level":"poor","limit":2,"inFlight":1,"highInFlight":0,"goodput":20000,\
                    "reference":1000000,"reason":{"rule":"goodput","measured":20000,"threshold":32000},\
                    "remedy":{"rule":"goodput","threshold":41600,"seconds":3},"since":"2026-03-01T12:34:56.000Z",\
                    "forced":false,"history":[1,2,3],"gates":{"utility":{"link":"http://a.example:80","level":"poor",\
                    "verb":"preempt","reason":{"rule":"goodput","measured":20000,"threshold":32000},\
                    "since":"2026-03-01T12:34:56.000Z","remedy":{"rule":"goodput","threshold":41600,"seconds":3}}}}
                    """)
            try store.set("link.up.*", to: #"{"level":"good","limit":64}"#)
            try store.set(
                "link.up.http://b.example:80", to: #"{"level":"offline","reason":"refused","since":1772368496000}"#)
        }

        @Test func `network shows links as the last coordinator stored them`() async throws {
            try await Installation.with { installation in
                try await leave(installation)
                let lines = try await installation.sluice("network", "--json").lines
                let links = try lines.map { try JSONValue(parsing: $0.utf8) }
                #expect(links.map { $0["destination"]?.string } == ["http://b.example:80", "http://a.example:80", "*"])
                #expect(links.map { $0["level"]?.string } == ["offline", "poor", "good"])
                let table = try await installation.sluice("network").lines
                #expect(table.count == 4 && table[0].hasPrefix("LINK"))
                #expect(table[2].contains("below 256 kbit/s; lifted by 333 kbit/s for 3.0 s"), "\(table[2])")
                let status = try await installation.status()?["links"]?.elements
                #expect(status?.compactMap { $0["level"]?.string } == ["offline", "poor", "good"])
            }
        }

        @Test func `network shows twenty links and a sum of the others, every link with --all, and every link in JSON`()
            async throws
        {
            try await Installation.with { installation in
                try await leave(installation)
                let store = try installation.store()
                for number in 10..<33 {
                    try store.set(
                        "link.up.http://c\(number).example:80", to: #"{"level":"good","inFlight":2,"rate":500000}"#)
                }
                let sum = "and 6 more links: all good; 12 in flight, 3.0 MB/s (--all shows them)"
                let network = try await installation.sluice("network").lines
                #expect(network.count == 22 && network.last == sum, "\(network.last ?? "-")")
                #expect(network[1].hasPrefix("http://b.example:80") && network.contains { $0.hasPrefix("* ") })
                let status = try await installation.sluice("status").lines
                #expect(status.suffix(22) == network[...])
                for command in ["network", "status"] {
                    let all = try await installation.sluice(command, "--all").lines
                    #expect(all.suffix(27).first?.hasPrefix("LINK") == true, "\(command)")
                    #expect(all.count { $0.hasPrefix("http://c") } == 23, "\(command)")
                    #expect(all.last?.hasPrefix("* ") == true, "an idle uplink goes last")
                }
                #expect(try await installation.sluice("network", "--json").lines.count == 26)
                #expect(try await installation.status()?["links"]?.elements?.count == 26)
                let refused = try await installation.sluice("status", "--all", CommandID().description)
                #expect(refused.code == 64 && refused.errors.contains("--all"), "\(refused.errors)")
            }
        }

        @Test func `explain names the link as the reason for a quality of service that it holds back`() async throws {
            try await Installation.with { installation in
                try await leave(installation)
                let payload = #"{"file":"/etc/hostname","to":"http://a.example:80/x"}"#
                let held = try await installation.sluice("submit", "upload", "--payload", payload, "--qos", "utility")
                let gates = try await installation.sluice("explain", "\(held.ids[0])", "--json").json()["gates"]?
                    .elements
                let gate = gates?.first { $0["gate"]?.string == "link" }
                #expect(gate?["threshold"]?.string == "333 kbit/s for 3.0 s")
                #expect(
                    gate?["value"]?.string
                        == "http://a.example:80 is poor: goodput 160 kbit/s is below 256 kbit/s; utility commands wait "
                        + "there (the policy is “preempt”), since 2026-03-01T12:34:56.000Z")
                #expect(gate?["values"]?["verb"]?.string == "preempt")
                #expect(gate?["values"]?["reason"]?["measured"]?.integer == 20_000)
                let free = try await installation.sluice("submit", "upload", "--payload", payload)
                #expect(try await installation.sluice("explain", "\(free.ids[0])").output.contains("link:") == false)
            }
        }

        @Test func `a coordinator that hangs delays status and network only briefly`() async throws {
            try await Installation.with { installation in
                let coordinator = try await installation.coordinator()
                coordinator.signal(SIGSTOP)
                let start = ContinuousClock.now
                #expect(try await installation.sluice("network", within: .seconds(20)).code == 0)
                #expect(ContinuousClock.now - start < .seconds(10))
                coordinator.signal(SIGCONT)
            }
        }
    }
}

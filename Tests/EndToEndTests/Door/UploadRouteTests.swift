import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice route` on configurations, without a door.
    struct UploadRouteTests {
        private static let routes = """
            routes:
              archive:
                command: {type: upload, payload: {to: "https://media.example.com/in/{name}", method: PUT}}
                qos: utility
                maxSize: 20GiB
                retention: 12h
              publish:
                flow: {nodes: {store: {type: s3, payload: {file: "{file}", endpoint: "https://s3.example.com", bucket: media, key: "{name}"}}}}
              inbox: {}
            """

        @Test func `the routes of the configuration are listed`() async throws {
            try await Installation.with { installation in
                let none = try await installation.sluice("route", "list")
                #expect(none.code == 0 && none.errors.contains("no routes"), "\(none.errors)")
                let file = try installation.directory.file("routes.yaml", Array(Self.routes.utf8))
                let listed = try await installation.sluice("route", "list", "--config", file)
                #expect(listed.lines.count == 4, "\(listed.errors)")
                #expect(listed.output.contains("flow flow (1 node)"), "\(listed.output)")
                let lines = try await installation.sluice("route", "list", "--config", file, "--json").lines
                let values = try lines.map { try JSONValue(parsing: Array($0.utf8)) }
                #expect(values.map { $0["becomes"]?.string } == ["command", "flow", "stored"])
                #expect(values[0]["maxSize"] == 21_474_836_480 && values[0]["retention"] == 43_200)
            }
        }

        @Test func `a check shows the commands of a sample, and submits nothing`() async throws {
            try await Installation.with { installation in
                let file = try installation.directory.file("routes.yaml", Array(Self.routes.utf8))
                let checked = try await installation.sluice("route", "check", file)
                #expect(checked.code == 0, "\(checked.errors)")
                #expect(checked.lines.first == "archive: upload to https://media.example.com:443", "\(checked.output)")
                let lines = try await installation.sluice("route", "check", file, "--name", "a b.mp4", "--json").lines
                let archive = try JSONValue(parsing: Array(try #require(lines.first).utf8))
                let payload = archive["commands"]?.elements?.first?["payload"]
                #expect(payload?["to"] == "https://media.example.com/in/a%20b.mp4", "\(archive)")
                #expect(!FileManager.default.fileExists(atPath: installation.data))
            }
        }

        @Test(arguments: [
            ("routes:\n  a:\n    command: {type: upload, payload: {to: \"https://h/{nam}\"}}", ":3: route “a”"),
            ("routes:\n  a:\n    command: {type: uplaod}", "no worker runs “uplaod”"),
            (
                "routes:\n  a:\n    command: {type: upload, payload: {to: https://h/, metod: PUT}}",
                "unknown key “metod”"
            ),
            ("routes:\n  a: {comand: {}}", "is it “command”?"), ("routes: [", ":"),
        ])
        func `a wrong route is a configuration error that names it`(text: String, problem: String) async throws {
            try await Installation.with { installation in
                let file = try installation.directory.file("routes.yaml", Array(text.utf8))
                let checked = try await installation.sluice("route", "check", file)
                #expect(
                    checked.code == 78 && checked.errors.contains(problem), "\(checked.code ?? -1) \(checked.errors)")
            }
        }

        @Test func `a check names the routes that send files of one name to one target`() async throws {
            try await Installation.with { installation in
                for (target, isNamed) in [("{name}", true), ("{path}", false), ("{id}/{name}", false)] {
                    let text = "routes:\n  a:\n    command: {type: upload, payload: {to: \"https://h/in/\(target)\"}}\n"
                    let file = try installation.directory.file("routes.yaml", Array(text.utf8))
                    let checked = try await installation.sluice("route", "check", file)
                    #expect(checked.code == 0, "\(checked.errors)")
                    #expect(checked.errors.contains("put {path}, {id} or {sha256}") == isNamed, "\(checked.errors)")
                }
            }
        }

        @Test func `the routes of the example configuration can be used`() async throws {
            try await Installation.with { installation in
                let example = "\(Installation.repository)/deploy/sluice.example.yaml"
                let lines = String(decoding: try #require(contents(of: example)), as: UTF8.self)
                    .split(separator: "\n").map { line in
                        line.hasPrefix("# ") && !line.hasPrefix("#  ")
                            ? "" : line.hasPrefix("#") ? line.dropFirst() : line
                    }
                let file = try installation.directory.file("sluice.yaml", Array(lines.joined(separator: "\n").utf8))
                let checked = try await installation.sluice("route", "check", file)
                #expect(checked.code == 0 && checked.lines.count == 3, "\(checked.errors)")
            }
        }

        /// A configuration with a program, and a route that runs it.
        private static func programs(enabled: Bool) -> String {
            """
            exec: {enabled: \(enabled)}
            programs: [wc]
            program: {wc: {path: /usr/bin/wc, allowArguments: true}}
            routes:
              count: {command: {type: exec, payload: {program: wc, arguments: ["-c", "{file}"]}}}
            """
        }

        @Test func `a check finds the programs of routes in the same file`() async throws {
            try await Installation.with { installation in
                let file = try installation.directory.file("all.yaml", Array(Self.programs(enabled: true).utf8))
                let checked = try await installation.sluice("route", "check", file)
                #expect(checked.code == 0 && checked.output.contains("count: exec"), "\(checked.errors)")
                let off = try installation.directory.file("off.yaml", Array(Self.programs(enabled: false).utf8))
                let refused = try await installation.sluice("route", "check", off)
                #expect(refused.code == 78 && refused.errors.contains("programs are off: set “exec.enabled: true” in"))
                #expect(!refused.errors.contains("ExitError"), "\(refused.errors)")
            }
        }

        @Test(arguments: [
            ("webhooks: []", "has no webhook endpoint with the origin https://hooks.example.com:443"),
            (
                """
                webhooks: [other]
                webhook: {other: {origin: "https://other.example.com", secretEnvironments: [WEBHOOK_SECRET]}}
                """,
                "has no webhook endpoint with the origin https://hooks.example.com:443"
            ),
            (
                """
                webhooks: [events]
                webhook: {events: {origin: "https://hooks.example.com", secretEnvironments: [WEBHOOK_SECRET]}}
                """,
                nil
            ),
        ])
        func `a check finds a webhook that no endpoint signs`(endpoints: String, problem: String?) async throws {
            try await Installation.with { installation in
                let routes = """
                    routes:
                      notify:
                        flow:
                          nodes:
                            store: {type: upload, payload: {file: "{file}", to: "https://media.example.com/{name}"}}
                            tell:
                              type: webhook
                              after: store
                              payload: {url: "https://hooks.example.com/done", type: upload.done}

                    """
                let whole = try installation.directory.file("sluice.yaml", Array((routes + endpoints).utf8))
                let checked = try await installation.sluice("route", "check", whole)
                #expect(checked.code == (problem == nil ? 0 : 78), "\(checked.errors)")
                if let problem { #expect(checked.errors.contains(problem)) }
                // Without a configuration the endpoints are not known.
                let part = try installation.directory.file("routes.yaml", Array(routes.utf8))
                let unknown = try await installation.sluice("route", "check", part)
                #expect(unknown.code == 0, "\(unknown.errors)")
            }
        }

        @Test func `the door and doctor warn of a route that no upload can take`() async throws {
            try await Installation.with { installation in
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                let file = DataDirectory(path: installation.data).configuration
                #expect(
                    FileManager.default.createFile(atPath: file, contents: Data(Self.programs(enabled: false).utf8)))
                let door = try await DoorRig(installation)
                #expect(door.errors.contains("A sample upload was refused"), "\(door.errors)")
                #expect(door.errors.contains("programs are off"), "\(door.errors)")
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.output.contains("The route “count” does not take this upload"), "\(doctor.output)")
            }
        }

        @Test func `other commands read a configuration with routes`() async throws {
            try await Installation.with { installation in
                let file = try installation.directory.file("routes.yaml", Array(Self.routes.utf8))
                _ = try await installation.up("--config", file)
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                let doctor = try await installation.sluice("doctor", "--config", file).output
                #expect(doctor.contains("sluice.yaml has 3, which can be used"), "\(doctor)")
                let near = try await installation.sluice(
                    "token", "create", "studio", "--scope", "upload", "--route", "archiv", "--config", file)
                #expect(near.code == 0 && near.errors.contains("is it “archive”?"), "\(near.errors)")
            }
        }
    }
}

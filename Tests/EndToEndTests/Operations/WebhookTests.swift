import Commands
import Foundation
import HTTPClient
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice webhook`, from the command line to the receiver.
    struct WebhookTests {
        private static let secret = "whsec_c2x1aWNlLXRlc3Qta2V5LW9mLTMyLWJ5dGVzLWxvbmc="
        private static let time = "2025-11-13T02:13:20.000Z"

        private func with(
            _ script: String, _ body: (Installation, ScriptedServer) async throws -> Void
        ) async throws {
            let server = try await ScriptedServer()
            try await stopping(server) {
                try server.run(script)
                try await Installation.with { installation in
                    let file = try installation.directory.file("billing.whsec", Array(Self.secret.utf8))
                    chmod(file, 0o600)
                    let yaml = """
                        webhooks: [billing]
                        webhook:
                          billing:
                            origin: \(server.origin)
                            secretFiles: [\(file)]
                        """
                    let configuration = try installation.directory.file("sluice.yaml", Array(yaml.utf8))
                    _ = try await installation.up(workers: 1, "--config", configuration)
                    try await body(installation, server)
                }
            }
        }

        private func verify(_ request: ReceivedRequest, body: String) async throws -> [String] {
            #expect(request.sha256 == sha256(Array(body.utf8)))
            return try await PythonScript.lines(
                "webhook-vectors.py", needing: "standardwebhooks", ["verify"],
                input: [
                    [
                        "secret": .string(Self.secret), "body": .string(body),
                        "id": .string(request["webhook-id"] ?? ""),
                        "timestamp": .integer(Int64(request["webhook-timestamp"] ?? "") ?? 0),
                        "signature": .string(request["webhook-signature"] ?? ""),
                    ]
                ])
        }

        @Test(.enabled(if: isAvailable(PythonScript.has("standardwebhooks")), "no Python has standardwebhooks"))
        func `an event arrives with a signature that the package standardwebhooks accepts`() async throws {
            try await with("* * : read; answer 200 body \"thanks\"") { installation, server in
                let sent = try await installation.sluice(
                    "webhook", "\(server.origin)/hooks", "--type", "invoice.paid", "--json-body", #"{"id": "in_7"}"#,
                    "--time", Self.time, "--wait")
                #expect(sent.code == 0 && sent.output == "thanks", "\(sent.output)\(sent.errors)")
                let request = try #require(server.requests.first)
                let event = #"{"type":"invoice.paid","timestamp":"\#(Self.time)","data":{"id":"in_7"}}"#
                #expect(try await verify(request, body: event) == ["ok"])
                let file = try installation.directory.file("body.json", Array("{ \"a\" : 1.0 }\n".utf8))
                let whole = try await installation.sluice(
                    "webhook", "\(server.origin)/hooks", "--body-file", file, "--endpoint", "billing", "--id", "msg_a",
                    "--wait", "--json")
                #expect(try whole.json()["result"]?["message"] == "msg_a", "\(whole.output)\(whole.errors)")
                #expect(try await verify(try #require(server.requests.last), body: "{ \"a\" : 1.0 }\n") == ["ok"])
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `no output, log or file of the data directory has the secret or a signature`() async throws {
            try await with("* * : read; answer 400 body \"bad {webhook-signature}\"") { installation, server in
                let id = try #require(
                    try await installation.sluice(
                        "webhook", "\(server.origin)/hooks?key=hush", "--type", "a", "--retry-limit", "0"
                    ).ids.first)
                _ = try await installation.await(id, .tooManyTimes, in: try installation.store())
                let shown = try await installation.sluice("status", "\(id)", "--json").output
                #expect(shown.contains("was answered 400") && !shown.contains("hush"), "\(shown)")
                let signature = try #require(server.requests.first?["webhook-signature"])
                let secrets = [String(signature.dropFirst(3)), String(Self.secret.dropFirst(6))]
                for secret in secrets { #expect(!"\(shown)\(installation.logs)".contains(secret)) }
                let paths = try FileManager.default.subpathsOfDirectory(atPath: installation.data)
                for path in paths {
                    let bytes = contents(of: "\(installation.data)/\(path)") ?? []
                    for secret in secrets { #expect(bytes.firstRange(of: Array(secret.utf8)) == nil, "\(path)") }
                }
            }
        }

        @Test func `a worker that is killed before the answer delivers the message again with one id`() async throws {
            try await with("* * #1 : read; hang\n* * : read; answer 200") { installation, server in
                let id = try #require(
                    try await installation.sluice("webhook", "\(server.origin)/hooks", "--type", "a").ids.first)
                try await until("the first delivery") { server.requests.first?.isWhole == true }
                kill(try #require(try await installation.workers().first), SIGKILL)
                let command = try await installation.await(id, .success, in: try installation.store())
                #expect(command.retries == 0)
                #expect(server.requests.count == 2)
                #expect(Set(server.requests.map { $0["webhook-id"] }) == ["msg_\(id)"])
                #expect(Set(server.requests.map(\.sha256)).count == 1)
            }
        }

        @Test func `a refused message waits for its next attempt, and its limit is that of the table`() async throws {
            try await with("* * : read; answer 500") { installation, server in
                let id = try #require(
                    try await installation.sluice("webhook", "\(server.origin)/hooks", "--type", "a").ids.first)
                let command = try await installation.await(id, .error, in: try installation.store())
                #expect(command.retries == 1 && command.retryLimit == 9)
            }
        }

        @Test func `the messages that failed since a time are sent again`() async throws {
            try await with("* * : read; answer 400") { installation, server in
                let store = try installation.store()
                func send(_ type: String, until status: CommandStatus) async throws -> CommandID {
                    let sent = try await installation.sluice(
                        "webhook", "\(server.origin)/hooks", "--type", type, "--retry-limit",
                        status == .error ? "3" : "0")
                    let id = try #require(sent.ids.first, "\(sent.errors)")
                    _ = try await installation.await(id, status, in: store)
                    return id
                }
                let old = try await send("old", until: .tooManyTimes)
                let sentAt = try #require(try store.command(old)?.createdAt)
                try await until("a later millisecond") { Timestamp.now > sentAt + .milliseconds(1) }
                let since = Timestamp.now.description
                let lost = try await send("lost", until: .tooManyTimes)
                let waiting = try await send("late", until: .error)
                let cancelled = try await send("cancelled", until: .error)
                // Nothing is tried again by itself from here.
                #expect(try await installation.sluice("pause").code == 0)
                #expect(try await installation.sluice("cancel", "\(cancelled)").code == 0)
                try server.run("* * : read; answer 200")

                let dry = try await installation.sluice(
                    "webhook", "replay", "billing", "--since", since, "--dry-run")
                #expect(dry.code == 0 && dry.ids == [lost, waiting], "\(dry.output)\(dry.errors)")
                #expect(try store.command(lost)?.status == .tooManyTimes)
                let none = try await installation.sluice(
                    "webhook", "replay", "billing", "--since", "1d", "--until", "12h")
                #expect(none.code == 0 && none.errors.contains("no command matches"), "\(none.errors)")
                let sent = try await installation.sluice(
                    "webhook", "replay", "\(server.origin)", "--since", since, "--json")
                #expect(sent.code == 0 && sent.errors.contains("changed 2 of 2"), "\(sent.output)\(sent.errors)")
                #expect(try sent.lines.allSatisfy { try JSONValue(parsing: $0.utf8)["done"] == true }, "\(sent.output)")
                #expect(try await installation.sluice("resume").code == 0)
                for id in [lost, waiting] { _ = try await installation.await(id, .success, in: store) }
                let again = server.requests.suffix(2).compactMap { $0["webhook-id"] }
                #expect(Set(again) == ["msg_\(lost)", "msg_\(waiting)"])
                #expect(try store.command(old)?.status == .tooManyTimes)
                #expect(try store.command(cancelled)?.status == .cancelled)
                let unknown = try await installation.sluice("webhook", "replay", "nowhere", "--since", "2h")
                #expect(unknown.code == 66, "\(unknown.errors)")
            }
        }

        @Test func `messages to a URL that is gone wait, uncharged, until it is resumed`() async throws {
            try await with("POST /gone* #1 : read; answer 410\n* * : read; answer 200") { installation, server in
                let store = try installation.store()
                func send(_ path: String) async throws -> CommandID {
                    let sent = try await installation.sluice("webhook", "\(server.origin)/\(path)", "--type", "a")
                    return try #require(sent.ids.first, "\(sent.errors)")
                }
                _ = try await installation.await(send("first"), .success, in: store)
                _ = try await installation.await(send("gone"), .tooManyTimes, in: store)
                // The state survives the worker that has found it.
                kill(try #require(try await installation.workers().first), SIGKILL)
                let waiting = try await send("gone")
                try await until("the message is held back") {
                    try store.command(waiting).map { $0.status == .new && $0.claim > 0 } ?? false
                }
                let held = try #require(try store.command(waiting))
                #expect(held.retries == 0 && held.reason?.contains("answered 410") == true, "\(held)")
                #expect(server.requests.count == 2)
                // The other URLs of the endpoint go on.
                _ = try await installation.await(send("second"), .success, in: store)
                try await checkPaused(waiting, installation)

                let resumed = try await installation.sluice("webhook", "resume", "\(server.origin)/any")
                #expect(resumed.code == 0 && resumed.output == "billing: goes on; 1 message waited\n", "\(resumed)")
                _ = try await installation.await(waiting, .success, in: store)
                let again = try await installation.sluice("webhook", "resume", "billing", "--json")
                #expect(try again.json()["changed"] == false && again.json()["waited"] == 0, "\(again)")
                let active = try await installation.sluice("webhook", "list", "--json").json()
                #expect(active["state"] == "active" && active["lastSuccess"]?.string != nil, "\(active)")
                #expect(try await installation.sluice("status", "--json").json()["pausedEndpoints"] == [])
            }
        }

        /// `explain`, `status`, `list` and `webhook list` say once that the URL is gone.
        private func checkPaused(_ waiting: CommandID, _ installation: Installation) async throws {
            let why = "the webhook endpoint “billing” sends nothing to"
            let explained = try await installation.sluice("explain", "\(waiting)")
            #expect(explained.lines.count == 1 && explained.output.hasPrefix("endpoint: \(why)"), "\(explained.output)")
            #expect(explained.output.contains("410") && explained.output.contains("sluice webhook resume billing"))
            let status = try await installation.sluice("status")
            #expect(status.output.components(separatedBy: why).count == 2, "\(status.output)")
            let overview = try await installation.sluice("status", "--json").json()
            #expect(overview["pausedEndpoints"]?.elements?.first?["endpoint"] == "billing", "\(overview)")
            let list = try await installation.sluice("list", "--status", "new")
            #expect(list.errors.components(separatedBy: why).count == 2, "\(list.errors)")
            #expect(list.output.contains("has answered 410"), "\(list.output)")
            let endpoints = try await installation.sluice("webhook", "list")
            #expect(endpoints.lines.count == 2 && endpoints.errors.contains(why), "\(endpoints.errors)")
            let listed = try await installation.sluice("webhook", "list", "--json").json()
            #expect(listed["gone"]?.elements?.count == 1 && listed["name"] == "billing", "\(listed)")
            #expect(listed["waiting"] == 1, "\(listed)")
        }

        @Test func `a message is refused at once where several endpoints have its origin`() async throws {
            try await Installation.with { installation in
                let file = try installation.directory.file("a.whsec", Array(Self.secret.utf8))
                chmod(file, 0o600)
                let section = "{origin: \"https://hooks.example.com\", secretFiles: [\(file)]}"
                let yaml = "webhooks: [a, b]\nwebhook:\n  a: \(section)\n  b: \(section)\n"
                let configuration = try installation.directory.file("sluice.yaml", Array(yaml.utf8))
                let message = ["webhook", "https://hooks.example.com/x", "--type", "a", "--config", configuration]
                let program = "\(Installation.bin)/sluice"
                let refused = try await installation.run(program: program, message)
                #expect(refused.code == 64 && refused.output.isEmpty, "\(refused)")
                #expect(refused.errors.contains("“a” and “b” have the origin") && refused.errors.contains("--endpoint"))
                let sent = try await installation.run(program: program, message + ["--endpoint", "b"])
                #expect(sent.code == 0 && sent.ids.count == 1, "\(sent)")
            }
        }

        @Test func `of two endpoints with one origin only the messages of the named one are sent again`() async throws {
            try await Installation.with { installation in
                let file = try installation.directory.file("a.whsec", Array(Self.secret.utf8))
                chmod(file, 0o600)
                let section = "{origin: \"https://hooks.example.com\", secretFiles: [\(file)]}"
                let yaml = "webhooks: [a, b]\nwebhook:\n  a: \(section)\n  b: \(section)\n"
                let configuration = try installation.directory.file("sluice.yaml", Array(yaml.utf8))
                func webhook(_ arguments: String...) async throws -> Installation.Finished {
                    try await installation.run(
                        program: "\(Installation.bin)/sluice", ["webhook"] + arguments + ["--config", configuration])
                }
                var ids: [CommandID] = []
                for endpoint in ["a", "b"] {
                    let sent = try await webhook("https://hooks.example.com/x", "--type", "t", "--endpoint", endpoint)
                    ids.append(try #require(sent.ids.first, "\(sent.errors)"))
                }
                let store = try installation.store()
                try store.open(Session(seat: 0, epoch: 7, pid: 1, startTime: 1, bootID: "test"))
                for id in ids {
                    let ending = ExecutionResult.failure(CommandFailure(.final, reason: "answered 400"))
                    _ = try store.apply(
                        [.claim(id, sent: true), .end(id, claim: 1, ending)], shard: id.shard(of: store.shardCount),
                        seat: 0, epoch: 7)
                }
                let dry = try await webhook("replay", "b", "--since", "1h", "--dry-run")
                #expect(dry.code == 0 && dry.ids == [ids[1]], "\(dry.output)\(dry.errors)")
            }
        }

        @Test func `a person pauses an endpoint, and an endpoint that does not exist is named`() async throws {
            try await with("* * : read; answer 200") { installation, server in
                func webhook(_ arguments: String...) async throws -> Installation.Finished {
                    try await installation.run(
                        program: "\(Installation.bin)/sluice",
                        ["webhook"] + arguments + ["--config", "\(installation.directory.path)/sluice.yaml"])
                }
                let paused = try await webhook("pause", "billing")
                #expect(paused.code == 0 && paused.output.hasPrefix("billing: paused;"), "\(paused)")
                let again = try await webhook("pause", server.origin)
                #expect(again.code == 0 && again.output.contains("was paused before"), "\(again)")
                let id = try #require(try await webhook("\(server.origin)/hooks", "--type", "a").ids.first)
                let store = try installation.store()
                try await until("the message is held back") { try store.command(id)?.reason != nil }
                for name in ["nothing", "", "https://other.example.com", "a b", "../billing", "billing\n"] {
                    for verb in ["pause", "resume"] {
                        let refused = try await webhook(verb, name)
                        #expect(refused.code == 66 && refused.errors.contains("sluice webhook list"), "\(refused)")
                    }
                }
                #expect(try await webhook("resume").code == 64)
                #expect(try await webhook("resume", "billing").code == 0)
                _ = try await installation.await(id, .success, in: store)
                #expect(server.requests.count == 1)
            }
        }

        @Test(arguments: [
            (["host/path", "--type", "a"], 64, "is not a URL"), (["https://a/b"], 64, "Give the event by --type"),
            (["https://a/b", "--type", "a-b"], 65, "“type” is “a-b”"),
            (["https://a/b", "--type", "a", "--json-body", "{"], 65, "--json-body is not valid JSON"),
            (["https://a/b", "--json-body", "{"], 65, "--json-body is not valid JSON"),
            (["https://a/b", "--type", "a", "--json-body", "1", "--body-file", "x"], 64, "exclude each other"),
            (["https://a/b", "--type", "a", "--body-file", "/no/such/file"], 66, "/no/such/file"),
            (["https://a/b", "--type", "a", "--endpoint", "whsec_aGFzaA"], 64, "not a secret"),
            (["https://a/b", "--json-body", "1", "--time", "2025-11-13T02:13:20Z"], 64, "--time"),
        ])
        func `invalid arguments are refused before anything is submitted`(
            _ arguments: [String], _ code: Int32, _ words: String
        ) async throws {
            try await Installation.with { installation in
                let refused = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["webhook"] + arguments)
                #expect(refused.code == code && refused.errors.contains(words), "\(refused.errors)")
                #expect(refused.output.isEmpty && !refused.errors.contains("aGFzaA"))
            }
        }
    }
}

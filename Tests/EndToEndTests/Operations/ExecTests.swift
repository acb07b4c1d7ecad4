import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice exec`, from the command line to the end of every process.
    struct ExecTests {
        private static let dash = "/usr/bin/dash"

        /// `exec.enabled` and programs that run scripts of the shell.
        private func configuration(_ installation: Installation, isEnabled: Bool = true) throws -> String {
            let secret = try installation.directory.file("token", Array("hush-hush-hush\n".utf8))
            let yaml = """
                exec: {enabled: \(isEnabled)}
                programs: [script, lines, fixed, single]
                program:
                  script:
                    path: \(Self.dash)
                    arguments: [-c]
                    allowArguments: true
                    environment: [SIZE]
                    set: [MODE=plain-setting]
                    setFiles: [TOKEN=\(secret)]
                    stdin: true
                  lines:
                    path: \(Self.dash)
                    arguments: [-c, 'for a in "$@"; do printf "%s\\0" "$a"; done', lines]
                    allowArguments: true
                  fixed: {path: \(Self.dash), arguments: [-c, "echo fixed"]}
                  single: {path: \(Self.dash), arguments: [-c, cat], concurrency: 1, stdin: true}
                """
            return try installation.directory.file("sluice.yaml", Array(yaml.utf8))
        }

        private func with(
            workers: Int = 1,
            _ body: (Installation, _ sluice: ([String]) async throws -> Installation.Finished)
                async throws -> Void
        ) async throws {
            try await Installation.with { installation in
                let file = try configuration(installation)
                _ = try await installation.up(workers: workers, "--config", file)
                try await body(installation) { arguments in
                    try await installation.run(
                        program: "\(Installation.bin)/sluice",
                        [arguments[0], "--config", file] + arguments.dropFirst())
                }
            }
        }

        /// The processes of a command, by their environment.
        private func processes(of id: CommandID) -> [Int32] {
            let needle = Array("SLUICE_COMMAND=\(id)".utf8)
            return (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int32($0) }.filter {
                pid in
                guard let bytes = contents(of: "/proc/\(pid)/environ"), !bytes.isEmpty else { return false }
                return bytes.split(separator: 0).contains { $0.elementsEqual(needle) }
            } ?? []
        }

        private func lock(_ installation: Installation, _ id: CommandID) -> LockProbe {
            LockProbe(path: DataDirectory(path: installation.data).run.execLock(id))
        }

        // MARK: Command line

        @Test func `a program runs, and its outputs are printed`() async throws {
            try await with { _, sluice in
                let run = try await sluice([
                    "exec", "--wait", "script", "echo out; echo err >&2; echo $SIZE", "--env", "SIZE=7",
                ])
                #expect(run.code == 0 && run.output == "out\n7\n", "\(run.errors)")
                #expect(run.errors.contains("err\n"))
                let json = try await sluice(["exec", "fixed", "--wait", "--json"])
                #expect(try json.json()["result"]?["stdout"]?.string == "fixed\n")
                #expect(try json.json()["result"]?["exit"]?.integer == 0)
            }
        }

        @Test func `a program with a limit of its own gets the output of another`() async throws {
            try await with { installation, _ in
                let flow = """
                    name: relay
                    nodes:
                      first: {type: exec, payload: {program: fixed}}
                      second: {type: exec, payload: {program: single, stdin: {$result: first/stdout}}}
                      third: {type: exec, payload: {program: single, stdin: {$result: second/stdout}}}
                    """
                let file = try installation.directory.file("flow.yaml", Array(flow.utf8))
                let run = try await installation.sluice("flow", "submit", file, "--config", "sluice.yaml", "--wait")
                #expect(run.code == 0, "\(run.errors)")
                let commands = try installation.store().list(CommandFilter(), after: nil, limit: 9)
                #expect(commands.allSatisfy { $0.status == .success && $0.retries == 0 })
                let results = try commands.compactMap { try installation.store().result($0.id) }
                #expect(
                    try results.map { try JSONValue(parsing: $0)["stdout"]?.string } == [
                        "fixed\n", "fixed\n", "fixed\n",
                    ])
            }
        }

        @Test func `arguments reach argv unchanged`() async throws {
            try await with { installation, sluice in
                let arguments = [
                    "; rm -rf /", "$(x)", "`x`", "a\nb", "", "-n", "--wait", "--", "*", "'\"\\", "é\u{301}", "%s",
                    String(repeating: "x", count: 100_000),
                ]
                let run = try await sluice(["exec", "--wait", "lines", "--"] + arguments)
                #expect(run.code == 0, "\(run.errors)")
                let id = try #require(try installation.store().list(CommandFilter(), after: nil, limit: 1).first?.id)
                let result = try #require(try installation.store().result(id))
                let stored = try JSONValue(parsing: result)
                // The output is longer than its limit, so its end is stored.
                #expect(stored["stdoutBytes"]?.integer == Int64(arguments.reduce(0) { $0 + $1.utf8.count + 1 }))
                let few = try await sluice(["exec", "--wait", "lines", "--"] + arguments.dropLast())
                #expect(few.output == arguments.dropLast().map { "\($0)\0" }.joined())
                // Without “--”, and with the program behind it.
                #expect(try await sluice(["exec", "lines", "a", "--wait", "b"]).output == "a\0b\0")
                #expect(try await sluice(["exec", "--wait", "--", "lines", "-a"]).output == "-a\0")
            }
        }

        @Test func `input comes from a text, from standard input or from a file`() async throws {
            try await with { installation, sluice in
                #expect(try await sluice(["exec", "--wait", "script", "cat", "--stdin", "text"]).output == "text")
                _ = try installation.directory.file("input", [0xFF, 0x00])
                #expect(
                    try await sluice(["exec", "--wait", "script", "wc -c", "--stdin-file", "input"]).output == "2\n")
                let piped = try await installation.run(
                    program: "\(Installation.bin)/sluice",
                    ["exec", "--config", "sluice.yaml", "--wait", "script", "cat", "--stdin", "-"],
                    input: Array("piped".utf8))
                #expect(piped.output == "piped", "\(piped.errors)")
            }
        }

        @Test func `a program that fails is named with its exit code and its last line`() async throws {
            try await with { _, sluice in
                let run = try await sluice(["exec", "--wait", "script", "echo why >&2; exit 65"])
                #expect(run.code == 1 && run.output.isEmpty)
                #expect(run.errors.contains("“script” exited with code 65 (invalid data): why"), "\(run.errors)")
            }
        }

        @Test func `a program that fails leaves the end of its error output`() async throws {
            try await with { installation, sluice in
                let text = "i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo line $i; done >&2; exit 65"
                let run = try await sluice(["exec", "--wait", "script", text])
                #expect(run.code == 1 && run.errors.contains("line 1\n") && run.errors.contains(": line 30"))
                let store = try installation.store()
                let command = try #require(try store.list(CommandFilter(), after: nil, limit: 1).first)
                #expect(command.status == .tooManyTimes)
                let explained = try await installation.sluice("explain", "\(command.id)")
                let all = (1...30).map { "line \($0)\n" }.joined()
                let title = "stderr, the end of \(all.utf8.count) bytes; “sluice status” has more:"
                #expect(
                    Array(explained.lines.dropFirst()) == [title] + (11...30).map { "  line \($0)" },
                    "\(explained.output)")
                let reasons = try await installation.sluice("explain", "\(command.id)", "--json").json()
                let listed = try await installation.sluice("list", "--json").json()
                #expect(reasons["stderr"]?.string == all && listed["stderr"]?.string == all)
                let status = try await installation.sluice("status", "\(command.id)", "--json").json()
                #expect(status["result"]?["exit"] == 65 && status["result"]?["stderr"]?.string == all)
            }
        }

        @Test func `JSON lines submit programs in bulk`() async throws {
            try await with { installation, _ in
                let lines = (0..<20).map {
                    #"{"payload": {"program": "script", "arguments": ["echo \#($0)"]}}"#
                }
                let submitted = try await installation.sluice(
                    "submit", "exec", "-", "--config", "sluice.yaml", input: lines.joined(separator: "\n"))
                #expect(submitted.ids.count == 20, "\(submitted.errors)")
                let store = try installation.store()
                try await installation.drained(store)
                let outputs = try submitted.ids.map { id in
                    try JSONValue(parsing: try #require(try store.result(id)))["stdout"]?.string
                }
                #expect(outputs == (0..<20).map { "\($0)\n" })
            }
        }

        @Test(arguments: [
            (["other"], 65, "sluice.yaml has no program “other”; there are: “script”, “lines”, “fixed”"),
            (["/usr/bin/dash"], 65, "has no program “/usr/bin/dash”"),
            (["fixed", "a"], 65, "takes no arguments"), (["fixed", "--stdin", "a"], 65, "takes no input"),
            (["script", "--stdin-file", "/no/such/file"], 66, "/no/such/file"),
            (["script", "--stdin-file", "no/such"], 66, "no/such"),
            (["script", "--env", "LD_PRELOAD=x"], 65, "could run other code"),
            (["script", "--env", "=x"], 64, "--env"), (["script", "--env", "NOT_SET_HERE"], 64, "NOT_SET_HERE"),
            (["script", "--stdin", "a", "--stdin-file", "b"], 64, "exclude each other"),
            (["script", "--directory", "/tmp"], 65, "has no directory"), ([], 64, "program"),
            (["script", "--timeout", "soon"], 64, "--timeout"),
        ])
        func `invalid arguments are refused before anything is submitted`(
            _ arguments: [String], _ code: Int32, _ words: String
        ) async throws {
            try await Installation.with { installation in
                let file = try configuration(installation)
                let refused = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["exec", "--config", file] + arguments)
                #expect(refused.code == code && refused.errors.contains(words), "\(refused.errors)")
                #expect(refused.output.isEmpty && !FileManager.default.fileExists(atPath: installation.data))
            }
        }

        @Test func `an argument of more than 128 KiB is refused at submit`() async throws {
            try await Installation.with { installation in
                let file = try configuration(installation)
                let long = String(repeating: "x", count: 131_072)
                let refused = try await installation.sluice(
                    "submit", "exec", "-", "--config", file,
                    input: #"{"payload": {"program": "script", "arguments": ["\#(long)"]}}"#)
                #expect(refused.code == 65 && refused.errors.contains("131072 bytes"), "\(refused.errors.prefix(300))")
            }
        }

        // MARK: Off by default

        @Test func `programs are off unless sluice.yaml enables them`() async throws {
            try await Installation.with { installation in
                let file = try configuration(installation, isEnabled: false)
                _ = try await installation.up(workers: 1, "--config", file)
                for arguments in [
                    ["exec", "script", "true"], ["submit", "exec", "--payload", #"{"program": "script"}"#],
                ] {
                    let refused = try await installation.run(
                        program: "\(Installation.bin)/sluice", arguments + ["--config", file])
                    #expect(refused.code == 77 && refused.errors.contains("exec.enabled: true"), "\(refused.errors)")
                }
                // Enabled for the submit only, as with another file or machine.
                let enabled = try await installation.sluice(
                    "exec", "script", "true", "--config", file, environment: ["SLUICE_EXEC_ENABLED": "true"])
                let id = try #require(enabled.ids.first, "\(enabled.errors)")
                let waits = try await installation.sluice("explain", "\(id)")
                #expect(waits.output.contains("no running worker executes “exec”"), "\(waits.output)")
                #expect(waits.output.contains("exec.enabled"))
                let worker = try installation.start("worker", "--config", file, "--types", "exec")
                #expect(try await worker.end(within: .seconds(30)) == .exited(78))
                #expect(worker.errors.contains("--types has exec"))
                // A worker for programs only takes it.
                let able = try await installation.worker(
                    "--config", file, "--types", "exec", environment: ["SLUICE_EXEC_ENABLED": "true"])
                try await installation.await(id, .success, in: try installation.store())
                #expect(able.ending == nil)
                let unknown = try await installation.sluice("worker", "--types", "exec,sing")
                #expect(unknown.code == 64 && unknown.errors.contains("'sing'"))
            }
        }

        @Test func `a program reports its progress and its values`() async throws {
            try await with { installation, sluice in
                let watch = try installation.start("watch", "--json")
                try await until("the snapshot") { !watch.output.isEmpty }
                let file = "\(installation.directory.path)/go"
                let report = #"{"progress": {"offset": 3, "total": 9}, "values": {"width": 640}}"#
                let text = "echo '\(report)' >&3; until [ -e \(file) ]; do sleep 0.05; done"
                let id = try #require(try await sluice(["exec", "script", text]).ids.first)
                try await until("the progress") { watch.output.contains("\"progress/\(id)\",\"offset\":3,\"total\":9") }
                _ = try installation.directory.file("go", [])
                let store = try installation.store()
                try await installation.await(id, .success, in: store)
                let result = try JSONValue(parsing: try #require(try store.result(id)))
                #expect(result["values"]?["width"]?.integer == 640)
                // A program without a destination is not on a link.
                #expect(try await installation.sluice("network").output.contains("no link is known"))
            }
        }

        @Test func `Ctrl-C during --wait leaves the program running`() async throws {
            try await with { installation, sluice in
                let file = "\(installation.directory.path)/go"
                let text = "until [ -e \(file) ]; do sleep 0.05; done"
                let waiting = try installation.start(
                    "exec", "--config", "sluice.yaml", "--wait", "script", text)
                let store = try installation.store()
                try await until("the program") { try store.counts()[.sent] == 1 }
                let id = try #require(try store.list(CommandFilter(), after: nil, limit: 1).first?.id)
                try await until("its process") { !self.processes(of: id).isEmpty }
                waiting.signal(SIGINT)
                #expect(try await waiting.end(within: .seconds(20)) == .exited(130))
                #expect(waiting.errors.contains("detached"))
                #expect(!self.processes(of: id).isEmpty)
                _ = try installation.directory.file("go", [])
                try await installation.await(id, .success, in: store)
            }
        }

        // MARK: Ends

        @Test func `a worker that is killed leaves no process, and the command in doubt`() async throws {
            try await with { installation, sluice in
                let text = "sleep 1000 & setsid sleep 1000 & sleep 1000"
                let id = try #require(try await sluice(["exec", "script", text]).ids.first)
                let store = try installation.store()
                try await until("the program") { self.processes(of: id).count == 4 }
                // The lock of its own guardian is not that of an earlier run.
                let running = try await installation.sluice("explain", "\(id)").output
                #expect(running.hasPrefix("running: ") && !running.contains("earlier run"), "\(running)")
                #expect(self.lock(installation, id).isHeld)
                let worker = try #require(try await installation.workers().first)
                let killed = ContinuousClock.now
                kill(worker, SIGKILL)
                try await until("the end of every process", within: .seconds(20)) { self.processes(of: id).isEmpty }
                try await until("the lock") { !self.lock(installation, id).isHeld }
                #expect(ContinuousClock.now - killed < .seconds(10))
                let command = try await installation.await(id, .inDoubt, in: store)
                #expect(command.reason?.contains("died") == true)
                let explained = try await installation.sluice("explain", "\(id)")
                #expect(explained.output.contains("Look at what it has done"), "\(explained.output)")
                #expect(try await installation.sluice("resolve", "\(id)", "--success").code == 0)
            }
        }

        @Test func `an idempotent program runs again, and never twice at once`() async throws {
            try await with(workers: 2) { installation, sluice in
                let file = try installation.directory.file("runs", [])
                // It writes when it begins and when it ends, and delays its end after TERM. The dead worker reads
                // neither output, so that a message of the shell would end it by SIGPIPE.
                let text =
                    "exec 2>/dev/null; trap 'sleep 0.5; echo - >> \(file); exit 1' TERM; echo + >> \(file); "
                    + "[ $SLUICE_CLAIM -ge 4 ] || { sleep 1000 & wait; }"
                let id = try #require(
                    try await sluice(["exec", "script", text, "--idempotent", "yes"]).ids.first)
                let store = try installation.store()
                for round in 1...3 {
                    try await until("run \(round)") {
                        (contents(of: file) ?? []).count { $0 == UInt8(ascii: "+") } == round
                    }
                    let seat = try #require(try store.command(id)?.seat)
                    let session = try #require(try store.sessions().first { $0.seat == seat })
                    kill(session.pid, SIGKILL)
                    try await until("the lock of the earlier run") {
                        let explained = try await installation.sluice("explain", "\(id)").output
                        return explained.contains("an earlier run is still ending")
                            || (contents(of: file) ?? []).count { $0 == UInt8(ascii: "+") } > round
                    }
                }
                try await installation.await(id, .success, in: store)
                let marks = (contents(of: file) ?? []).filter { $0 != 0x0A }.map { $0 == UInt8(ascii: "+") }
                // Begun, ended, begun, ended, begun, ended, begun.
                #expect(marks == [true, false, true, false, true, false, true])
                #expect(self.processes(of: id).isEmpty)
            }
        }

        @Test func `a cancellation ends the program, also one that ignores TERM`() async throws {
            try await with { installation, sluice in
                let ids = try await [
                    sluice(["exec", "script", "sleep 1000"]).ids[0],
                    sluice(["exec", "script", "--grace", "0.2", "trap '' TERM; sleep 1000; sleep 1000"]).ids[0],
                ]
                let store = try installation.store()
                for id in ids {
                    try await until("the program") { !self.processes(of: id).isEmpty }
                    #expect(try await installation.sluice("cancel", "\(id)").code == 0)
                    let command = try await installation.await(id, .cancelled, in: store)
                    #expect(command.reason?.contains("may have been delivered") == true)
                    #expect(self.processes(of: id).isEmpty)
                }
            }
        }

        @Test func `a drained worker ends its programs, and gives back those that are idempotent`() async throws {
            try await Installation.with { installation in
                let file = try configuration(installation)
                _ = try await installation.coordinator()
                let worker = try await installation.worker("--config", file, "--grace", "0s")
                var ids: [CommandID] = []
                for answer in ["yes", "no"] {
                    let run = try await installation.sluice(
                        "exec", "--config", file, "script", "sleep 1000", "--idempotent", answer)
                    ids.append(try #require(run.ids.first, "\(run.errors)"))
                }
                try await until("the programs") { ids.allSatisfy { !self.processes(of: $0).isEmpty } }
                worker.signal(SIGTERM)
                #expect(try await worker.end(within: .seconds(30)) == .exited(0))
                let store = try installation.store()
                #expect(try store.command(ids[0])?.status == .new && store.command(ids[0])?.retries == 0)
                #expect(try store.command(ids[1])?.status == .inDoubt)
                #expect(ids.allSatisfy { self.processes(of: $0).isEmpty })
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a worker of up is not killed while a program has its grace`() async throws {
            try await Installation.with { installation in
                let file = try configuration(installation)
                let up = try await installation.up(workers: 1, "--config", file, "--grace", "0s")
                let marks = try installation.directory.file("marks", [])
                var ids: [CommandID] = []
                // The first takes 7 s of its grace; the second would take an hour.
                let begin = "echo up >> \(marks)"
                for (grace, text) in [
                    ("10s", "trap 'sleep 7; echo clean >> \(marks); exit 0' TERM; \(begin); sleep 1000 & wait"),
                    ("1h", "trap '' TERM; \(begin); while :; do sleep 1000; done"),
                ] {
                    let run = try await installation.sluice("exec", "--config", file, "--grace", grace, "script", text)
                    ids.append(try #require(run.ids.first, "\(run.errors)"))
                }
                func lines() -> [String] {
                    String(decoding: contents(of: marks) ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
                }
                try await until("the programs") { lines().count == 2 }
                up.signal(SIGTERM)
                #expect(try await up.end(within: .seconds(40)) == .exited(0))
                #expect(lines() == ["up", "up", "clean"])
                // The worker has settled both; a killed one would have left them as they were.
                let store = try installation.store()
                for id in ids { #expect(try store.command(id)?.status == .inDoubt) }
                #expect(ids.allSatisfy { self.processes(of: $0).isEmpty })
            }
        }

        @Test func `status names the types of a worker that does not execute all`() async throws {
            try await Installation.with { installation in
                let file = try configuration(installation)
                _ = try await installation.coordinator()
                _ = try await installation.worker("--config", file)
                #expect(try await !installation.sluice("status").output.contains("TYPES"))
                _ = try await installation.worker("--config", file, "--types", "exec,noop")
                try await until("the types of both") {
                    try await installation.sluice("status").output.contains("exec, noop")
                }
                let status = try await installation.sluice("status", "--json").json()
                let types = status["workers"]?.elements?.map { $0["types"]?.elements?.compactMap(\.string) ?? [] } ?? []
                #expect(types.count == 2 && types[1] == ["exec", "noop"] && types[0].contains("upload"), "\(types)")
            }
        }

        // MARK: Secrets

        @Test func `values of set are in no status, event, argument or log`() async throws {
            try await with { installation, sluice in
                let store = try installation.store()
                let watch = try installation.start("watch", "--json")
                try await until("the events") { watch.output.contains("snapshot") || !watch.output.isEmpty }
                let ended = try await sluice([
                    "exec", "--wait", "script", #"test "$TOKEN" = hush-hush-hush; echo "$TOKEN" >&2; exit $?"#, "--env",
                    "SIZE=private-value",
                ])
                #expect(ended.code == 0, "\(ended.errors)")
                let failed = try await sluice(["exec", "script", #"echo "$TOKEN" >&2; exit 65"#])
                let id = try #require(failed.ids.first)
                try await installation.await(id, .tooManyTimes, in: store)
                let running = try #require(try await sluice(["exec", "script", "sleep 1000"]).ids.first)
                try await until("the program") { !self.processes(of: running).isEmpty }
                let lines = processes(of: running).compactMap { contents(of: "/proc/\($0)/cmdline") }
                try await until("the event of the end") { watch.output.contains("\(id)") }
                var texts = [watch.output, installation.logs, ended.output, ended.errors]
                texts += lines.map { String(decoding: $0, as: UTF8.self) }
                for arguments in [
                    ["status"], ["status", "\(id)"], ["status", "--json", "\(id)"], ["list", "--json"],
                ] {
                    texts.append(
                        try await installation.run(program: "\(Installation.bin)/sluice", arguments).output)
                }
                for text in texts {
                    #expect(!text.contains("hush-hush") && !text.contains("plain-setting"), "\(text.prefix(2000))")
                }
                #expect(try await installation.sluice("status", "\(id)").output.contains("[redacted]"))
                let shown = try #require(try store.list(CommandFilter(), after: nil, limit: 10).first)
                #expect(try await !installation.sluice("status", "\(shown.id)").output.contains("private-value"))
            }
        }

        @Test func `doctor names the programs, and those that would not start`() async throws {
            try await Installation.with { installation in
                let yaml = """
                    exec: {enabled: true}
                    programs: [good, gone]
                    program:
                      good: {path: \(Self.dash)}
                      gone: {path: /no/such/program}
                    """
                let file = try installation.directory.file("sluice.yaml", Array(yaml.utf8))
                _ = try await installation.sluice("submit", "noop")
                let doctor = try await installation.sluice("doctor", "--config", file)
                #expect(
                    doctor.code == 1 && doctor.output.contains("workers run programs: good, gone"), "\(doctor.output)")
                #expect(doctor.output.contains("/no/such/program"))
                #expect(try await installation.sluice("doctor").output.contains("workers run no programs"))
            }
        }
    }
}

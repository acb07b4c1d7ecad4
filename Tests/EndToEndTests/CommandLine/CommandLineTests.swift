import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Output and exit codes of the subcommands.
    struct CommandLineTests {
        @Test func `every change is a line of JSON with --json`() async throws {
            try await Installation.with { installation in
                let ids = try await installation.sluice(
                    "submit", "noop", "-", input: #"{"payload":{}}"# + "\n" + #"{"payload":{}}"# + "\n"
                ).ids
                let (one, other) = (try #require(ids.first).description, try #require(ids.last).description)
                let changes: [(arguments: [String], code: Int32, lines: Int, done: Bool?)] = [
                    (["requalify", one, other, "--qos", "utility"], 0, 2, true), (["cancel", one], 0, 1, true),
                    (["retry", one], 0, 1, true), (["resolve", other, "--success"], 1, 1, false),
                    (["pause", "--qos", "utility"], 0, 1, nil), (["resume", "--qos", "utility"], 0, 1, nil),
                ]
                for change in changes {
                    let made = try await installation.run(
                        program: "\(Installation.bin)/sluice", change.arguments + ["--json"])
                    #expect(made.code == change.code, "\(change.arguments): \(made.errors)")
                    let lines = try made.lines.map { try JSONValue(parsing: $0.utf8) }
                    #expect(lines.count == change.lines, "\(made.output)")
                    for line in lines { #expect(line["done"]?.bool == change.done, "\(made.output)") }
                }
            }
        }

        @Test func `status shows every count, and no coordinator where none runs`() async throws {
            try await Installation.with { installation in
                _ = try await installation.sluice("submit", "noop")
                let status = try #require(try await installation.status())
                #expect(status["coordinator"] == .null)
                for name in CommandStatus.allCases.map(\.name) {
                    #expect(status["counts"]?[name]?.integer == (name == "new" ? 1 : 0), "\(name)")
                }
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a wait without a coordinator says so once, and continues`() async throws {
            try await Installation.with { installation in
                let waiting = try installation.start("submit", "noop", "--wait")
                try await until("its message") { waiting.errors.contains("nothing is running yet") }
                // The wait looks for a coordinator once a second.
                let later = ContinuousClock.now + .seconds(2.5)
                try await until("its next checks") { ContinuousClock.now > later }
                #expect(waiting.ending == nil)
                _ = try await installation.up()
                #expect(try await waiting.end(within: .seconds(30)) == .exited(0))
                #expect(
                    waiting.errors.components(separatedBy: "nothing is running yet").count == 2, "\(waiting.errors)")
            }
        }

        @Test func `a header arrives, and its value is never printed`() async throws {
            try await Installation.with { installation in
                let secret = "s3cr3t-of-the-test"
                let receiver = try await installation.receiver()
                let up = try await installation.up()
                let file = try installation.directory.file("file", [1, 2, 3])
                let put = try await installation.sluice(
                    "put", file, "--to", "\(receiver.origin)/x?signature=\(secret)", "--header",
                    "Authorization: Bearer \(secret)", "--header", "X-Tag: nightly", "--wait")
                let id = try #require(put.ids.first, "\(put.errors)").description
                let headers = try #require(receiver.requests.last).headers
                for (name, value) in [("authorization", "Bearer \(secret)"), ("x-tag", "nightly")] {
                    #expect(headers.contains { $0.name.lowercased() == name && $0.value == value }, "\(headers)")
                }
                for arguments in [["status", id], ["explain", id], ["list"], ["status"], ["network"], ["doctor"]] {
                    for form in [[], ["--json"]] {
                        let shown = try await installation.run(
                            program: "\(Installation.bin)/sluice", arguments + form)
                        #expect(shown.code == 0, "\(arguments + form): \(shown.errors)")
                        #expect(!(shown.output + shown.errors).contains(secret), "\(arguments + form)")
                    }
                }
                #expect(!up.errors.contains(secret))
                #expect(try await installation.sluice("status", id).output.contains("nightly"))
            }
        }

        @Test func `list filters by destination, and a retry limit is observed`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/x", .answer(500))
                let file = try installation.directory.file("file", [1, 2, 3])
                let limited = try await installation.sluice(
                    "put", file, "--to", "\(receiver.origin)/x", "--retry-limit", "0"
                ).ids
                _ = try await installation.sluice("put", file, "--to", "http://other.example/x", "--not-before", "1h")
                let listed = try await installation.sluice("list", "--json", "--destination", receiver.origin)
                let ids = try listed.lines.map { try JSONValue(parsing: $0.utf8)["id"]?.string }
                #expect(ids == limited.map(\.description), "\(listed.output)")
                _ = try await installation.up()
                let id = try #require(limited.first)
                try await installation.await(id, .tooManyTimes, in: try installation.store())
                #expect(receiver.requests.count == 1)
            }
        }

        @Test func `a subcommand with a closed output completes its changes and exits with 74`() async throws {
            try await Installation.with { installation in
                let bulk = String(repeating: #"{"payload":{}}"# + "\n", count: 10_000)
                let submitted = try await installation.run(
                    program: "/bin/bash",
                    [
                        "-c", #""$0" submit noop - | head -c 1 > first; exit ${PIPESTATUS[0]}"#,
                        "\(Installation.bin)/sluice",
                    ], input: Array(bulk.utf8))
                #expect(submitted.code == 74)
                #expect(submitted.errors.contains("standard output was closed"), "\(submitted.errors)")
                let store = try installation.store()
                #expect(try store.counts()[.new] == 10_000)
                let ids = try store.list(CommandFilter(), after: nil, limit: 2).map(\.id.description)
                #expect(try await unread(["cancel"] + ids, installation).code == 74)
                #expect(try store.counts()[.cancelled] == 2)
                // Another failure determines the exit code.
                #expect(try await unread(["cancel", ids[0], CommandID().description], installation).code == 66)
                let document = #"{"nodes":{"a":{"type":"noop"}}}"#
                for arguments in [
                    ["flow", "submit", "-"], ["batch", "open"], ["token", "create", "b", "--scope", "read"],
                ] {
                    let made = try await installation.run(
                        program: "\(Installation.bin)/sluice", arguments, input: Array(document.utf8))
                    #expect(made.code == 0, "\(arguments): \(made.errors)")
                }
                let changes = [
                    ["flow", "submit", "-"], ["batch", "open"], ["schedule", "put", "a", "@daily", "noop"],
                    ["schedule", "pause", "a"], ["limit", "set", "a", "--starts", "1/s"],
                    ["token", "create", "a", "--scope", "read"],
                    ["prune", "--older-than", "1d"], ["doctor", "--mend"],
                ]
                for arguments in changes {
                    let changed = try await unread(arguments, installation, input: document)
                    #expect(changed.code == 74, "\(arguments): \(changed.errors)")
                }
                #expect(try store.schedules().map(\.state.paused) == [true])
                // A subcommand that only shows something ends at once.
                let readings = [
                    ["list"], ["status"], ["flow", "list"], ["batch", "list"], ["schedule", "list"], ["limit", "list"],
                    ["token", "list"], ["network"], ["doctor"],
                ]
                for arguments in readings {
                    let shown = try await unread(arguments, installation)
                    #expect(shown.code == 0 && shown.errors.isEmpty, "\(arguments): \(shown.errors)")
                }
            }
        }

        @Test(.enabled(if: SteppedClock.isAvailable, "libfaketime is not installed"))
        func `a preloaded library that changes the environment hides no argument`() async throws {
            try await Installation.with { installation in
                let preload: [String: String?] = ["LD_PRELOAD": SteppedClock.faketime, "FAKETIME": "+0"]
                let submitted = try await installation.sluice(
                    "submit", "noop", "--unique-key", "ä", environment: preload)
                #expect(submitted.code == 0 && submitted.ids.count == 1, "\(submitted.output)")
                #expect(try await installation.sluice("frobnicate", environment: preload).code == 64)
                #expect(try installation.store().counts()[.new] == 1)
            }
        }

        /// A program that sees no argument must not look as if it had succeeded.
        @Test(arguments: [[], ["flow"], ["--data", "x"]])
        func `a missing subcommand is a usage error, and help that was asked for is not`(
            _ arguments: [String]
        ) async throws {
            try await Installation.with { installation in
                let bare = try await installation.run(program: "\(Installation.bin)/sluice", arguments)
                #expect(bare.code == 64 && bare.output.isEmpty, "\(bare.output)")
                for form in [["--help"], ["help"], ["flow", "--help"], ["help", "put"], ["--version"]] {
                    let help = try await installation.run(program: "\(Installation.bin)/sluice", form)
                    #expect(help.code == 0 && !help.output.isEmpty && help.errors.isEmpty, "\(form): \(help.errors)")
                }
            }
        }

        /// Each subcommand that prints the id of a durable command, or a token that is shown once, in each form of an output
        /// that cannot be written to. The others found: `batch`, `flow submit`, `schedule trigger`, `token create`.
        @Test func `a subcommand whose output cannot be written submits nothing and exits with 74`() async throws {
            try await Installation.with { installation in
                let file = try installation.directory.file("file", [1])
                #expect(try await installation.sluice("schedule", "put", "a", "@yearly", "noop").code == 0)
                let input = #"{"nodes":{"a":{"type":"noop"}}}"#
                let commands = [
                    "submit noop", "put \(file) --to http://127.0.0.1:9/x",
                    "put \(file) --spool --to http://127.0.0.1:9/y",
                    "get http://127.0.0.1:9/z --to \(installation.directory.path)/",
                    "request http://127.0.0.1:9/", "request http://127.0.0.1:9/ --wait", "fetch http://127.0.0.1:9/",
                    "flow submit -", "batch open", "schedule trigger a", "token create t --scope read",
                ]
                for command in commands {
                    for output in [">&-", ">/dev/full", "1</dev/null"] {
                        let run = try await installation.run(
                            program: "/bin/sh", ["-c", "exec \(Installation.bin)/sluice \(command) \(output)"],
                            input: Array(input.utf8))
                        #expect(run.code == 74, "\(command) \(output): \(run.errors)")
                        #expect(run.errors.contains("cannot write to standard output"), "\(run.errors)")
                    }
                }
                for command in ["submit noop -", "batch submit noop -"] {
                    let run = try await installation.run(
                        program: "/bin/sh", ["-c", "exec \(Installation.bin)/sluice \(command) >&-"],
                        input: Array("{\"payload\":{}}\n{\"payload\":{}}\n".utf8))
                    #expect(run.code == 74, "\(command): \(run.errors)")
                }
                #expect(try await unread(["submit", "noop"], installation).code == 74)
                let store = try installation.store()
                #expect(try CommandStatus.allCases.allSatisfy { try store.counts()[$0] == 0 })
                #expect(try await installation.sluice("token", "list", "--json").lines.isEmpty)
                // A reading loses nothing, but must not end as if it had been printed.
                let listed = try await installation.run(
                    program: "/bin/sh", ["-c", "exec \(Installation.bin)/sluice status >&-"])
                #expect(listed.code == 74, "\(listed.errors)")
            }
        }

        @Test(.enabled(if: SmallFileSystem.mayExist, "only root can mount a small tmpfs"))
        func `a bulk into a file without room submits only the lines of the ids that it writes`() async throws {
            try await Installation.with { installation in
                let path = "\(installation.directory.path)/small"
                guard let disk = try await SmallFileSystem("1m", at: path, log: installation.directory) else { return }
                defer { disk.remove() }
                let bulk = String(repeating: #"{"payload":{}}"# + "\n", count: 40_000)
                let run = try await installation.run(
                    program: "/bin/sh", ["-c", "exec \(Installation.bin)/sluice submit noop - > \(path)/ids"],
                    input: Array(bulk.utf8))
                #expect(run.code == 74, "\(run.errors)")
                let ids = (contents(of: "\(path)/ids") ?? []).count { $0 == UInt8(ascii: "\n") }
                #expect(try installation.store().counts()[.new] == ids)
            }
        }

        /// Runs `sluice` with its output in a pipe without a reader.
        private func unread(
            _ arguments: [String], _ installation: Installation, input: String = ""
        ) async throws -> Installation.Finished {
            let script = #"""
                rm -f gone && mkfifo gone
                { read -r line <gone; "$0" "$@"; echo $? >code; } | { exec <&-; echo >gone; }
                exit "$(cat code)"
                """#
            return try await installation.run(
                program: "/bin/sh", ["-c", script, "\(Installation.bin)/sluice"] + arguments, input: Array(input.utf8))
        }

        @Test func `no output contains control characters for a terminal`() async throws {
            try await Installation.with { installation in
                let name = "a\u{1B}]0;b\u{7}\nc"
                let id = try #require(try await installation.sluice("submit", "noop", "--unique-key", name).ids.first)
                let status = try await installation.sluice("status", "\(id)")
                #expect(status.output.contains("a ]0;b  c\n") && !status.output.contains("\u{1B}"), "\(status.output)")
                let put = try await installation.sluice("put", name, "--to", "http://h/x")
                #expect(put.errors.contains("a ]0;b  c does not exist"), "\(put.errors)")
                #expect(!put.errors.contains("\u{1B}"))
                // The help keeps its line breaks.
                #expect(try await installation.sluice("put", "--help").lines.count > 10)
            }
        }

        @Test func `a payload is stored byte for byte, and shown with the numbers that it has`() async throws {
            try await Installation.with { installation in
                let payload = #"{"id": 18446744073709551615, "x": 1.10, "y": 1e400}"#
                let single = try await installation.sluice(
                    "submit", "mine", "--allow-unknown", "--payload", " \(payload)\n")
                let line = #" {"qos":"utility", "payload" : \#(payload) }"#
                let bulk = try await installation.sluice("submit", "mine", "--allow-unknown", "-", input: line)
                let store = try installation.store()
                for finished in [single, bulk] {
                    let id = try #require(finished.ids.first, "\(finished.errors)")
                    #expect(try store.payload(id) == Array(payload.utf8))
                    for shown in [["status", "\(id)"], ["status", "\(id)", "--json"]] {
                        let output = try await installation.run(program: "\(Installation.bin)/sluice", shown).output
                        #expect(output.contains("18446744073709551615") && output.contains("1e400"), "\(output)")
                    }
                }
            }
        }

        @Test func `a number that an operation cannot take is refused by its range`() async throws {
            try await Installation.with { installation in
                for number in ["18446744073709551614", "1e400"] {
                    let refused = try await installation.sluice(
                        "submit", "noop", "--payload", "{\"milliseconds\":\(number)}")
                    #expect(refused.code == 65 && refused.errors.contains("“milliseconds”"), "\(refused.errors)")
                    #expect(!refused.errors.contains("JSON"), "\(refused.errors)")
                }
            }
        }

        @Test func `retry skips a command whose unique key was taken meanwhile`() async throws {
            try await Installation.with { installation in
                func submit(_ payload: String, _ options: String...) async throws -> String {
                    let submitted = try await installation.run(
                        program: "\(Installation.bin)/sluice", ["submit", "noop", "--payload", payload] + options)
                    return try #require(submitted.ids.first, "\(submitted.errors)").description
                }
                let (first, other) = (try await submit("{}", "--unique-key", "k"), try await submit("{}"))
                #expect(try await installation.sluice("cancel", first, other).code == 0)
                let second = try await submit(#"{"milliseconds":1}"#, "--unique-key", "k")
                let retried = try await installation.sluice("retry", first, other)
                #expect(retried.code == 1)
                #expect(retried.errors.contains(first) && retried.errors.contains(second), "\(retried.errors)")
                #expect(retried.output.contains(other))
                #expect(try installation.store().counts()[.new] == 2)
            }
        }

        @Test func `Ctrl-C prints the changes made before it`() async throws {
            try await Installation.with { installation in
                var ids: [CommandID] = []
                func isLocked(_ id: CommandID) -> Bool { id.shard(of: 8) == 3 }
                while !ids.contains(where: isLocked) || ids.count(where: isLocked) > ids.count - 2 {
                    ids += try await installation.sluice("submit", "noop").ids
                }
                let locked = try #require(ids.first(where: isLocked))
                let free = ids.filter { !isLocked($0) }
                let store = try installation.store()
                let lock = try await ShardLock(3, of: installation)
                let cancel = try installation.start("cancel", "\(free[0])", "\(free[1])", "\(locked)")
                try await until("the second") { try store.command(free[1])?.status == .cancelled }
                cancel.signal(SIGINT)
                #expect(try await cancel.end(within: .seconds(20)) == .exited(130), "\(cancel.errors)")
                #expect(cancel.output.contains("\(free[0]) cancelled"), "\(cancel.output)")
                try await lock.release()
            }
        }

        @Test func `prune keeps commands that ended within a week`() async throws {
            try await Installation.with { installation in
                let store: any CommandStore =
                    if installation.serverStore != nil {
                        try installation.store()
                    } else {
                        try SQLiteStore(
                            directory: DataDirectory(path: installation.data), create: true, clock: SettableClock())
                    }
                var ids: [CommandID] = []
                // Submit in the order of time, like the transitions of a shard: prune stops at the first
                // newer one.
                for days in [8, 6] as [Int64] {
                    let then = Timestamp.now + .seconds(-days * 86_400)
                    let draft = CommandDraft(
                        type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
                    let id = try store.submit([draft], allowUnknownTypes: false, now: then)[0].get().id
                    _ = try store.cancel(id, reason: "a test", now: then)
                    ids.append(id)
                }
                _ = try await installation.sluice("submit", "noop", "--not-before", "1h")
                #expect(try await installation.sluice("prune").code == 0)
                #expect(try store.command(ids[0]) == nil)
                #expect(try store.command(ids[1])?.status == .cancelled)
                #expect(try store.counts()[.new] == 1)
            }
        }
    }
}

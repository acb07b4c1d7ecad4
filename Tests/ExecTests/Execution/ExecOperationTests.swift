import Commands
import Foundation
import Host
import Operations
import TestSupport
import Testing

@testable import Exec
@testable import Transfers

/// Executions of `exec`, with real processes.
@Suite struct ExecOperationTests {
    // MARK: Results

    @Test func `a result has the outputs, the times and the values`() async throws {
        try await ExecOperationHarness.with { harness in
            let text = #"echo out; echo err >&2; echo '{"values": {"width": 640}}' >&3"#
            let values = JSONValue.Member("values", .object([.init("width", 1), .init("kind", "a")]))
            let result = try #require(try await harness.outcome(text, [values]).result)
            #expect(result["exit"]?.integer == 0 && result["signal"] == .null && result["timedOut"]?.bool == false)
            #expect(result["stdout"]?.string == "out\n" && result["stdoutBytes"]?.integer == 4)
            #expect(result["stderr"]?.string == "err\n" && result["stderrTruncated"]?.bool == false)
            #expect(result["values"] == .object([.init("kind", "a"), .init("width", 640)]))
            #expect(result["survivors"]?.integer == 0 && result["reports"] == nil)
            #expect(result["maxRSS"]?.integer ?? 0 > 100_000)
            for name in ["ms", "userMs", "systemMs"] { #expect(result[name]?.integer != nil) }
            #expect(harness.leftDirectories.isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: harness.directory.path) == ["exec"])
        }
    }

    @Test(arguments: [
        (#"printf 'a\303'"#, "YcM=", true), (#"printf 'a\0b'"#, "YQBi", true), ("printf é", "é", false),
        (#"printf '\033[1m'"#, "G1sxbQ==", true), ("printf 'no line feed'", "no line feed", false), (":", "", false),
    ])
    func `an output that is not text is base64, beside the reports`(
        _ text: String, _ stored: String, _ isBase64: Bool
    ) async throws {
        try await ExecOperationHarness.with { harness in
            let result = try #require(
                try await harness.outcome(text + #"; echo '{"values": {"a": 1}}' >&3"#).result)
            #expect(result["stdout"]?.string == stored)
            #expect(result["stdoutEncoding"]?.string == (isBase64 ? "base64" : nil))
            #expect(result["values"] == .object([.init("a", 1)]))
        }
    }

    @Test func `a long output is cut at a character, and counted`() async throws {
        try await ExecOperationHarness.with { harness in
            let rule = JSONValue.object([.init("keep", "head"), .init("limit", 6)])
            let result = try #require(
                try await harness.outcome(
                    "printf abcdeéabc; printf éabcdeé >&2",
                    [
                        .init("stdout", rule), .init("stderr", .object([.init("keep", "tail"), .init("limit", 8)])),
                    ]
                ).result)
            #expect(result["stdout"]?.string == "abcde" && result["stdoutBytes"]?.integer == 10)
            #expect(result["stderr"]?.string == "abcdeé" && result["stderrBytes"]?.integer == 9)
            #expect(result["stdoutTruncated"]?.bool == true && result["stderrTruncated"]?.bool == true)
        }
    }

    @Test func `an output goes to a file in the directory of the program`() async throws {
        try await ExecOperationHarness.with { harness in
            harness.program.directory = harness.directory.path
            let file = "\(harness.directory.path)/log"
            _ = try harness.directory.file("log", Array("older and longer".utf8))
            let result = try #require(
                try await harness.outcome("echo out", [.init("stdout", .object([.init("to", .string(file))]))]).result)
            #expect(contents(of: file) == Array("out\n".utf8))
            #expect(result["stdoutFile"]?.string == file && result["stdoutBytes"]?.integer == 4)
            #expect(result["stdout"] == nil)
            // Neither a symbolic link nor another name of a file is written.
            let other = try harness.directory.file("other", Array("kept".utf8))
            for make in [symlink, link] {
                unlink(file)
                #expect(make(other, file) == 0)
                let rule = JSONValue.Member("stdout", .object([.init("to", .string(file))]))
                #expect(try await harness.outcome("echo out", [rule]).failure?.fault == .final)
            }
            #expect(contents(of: other) == Array("kept".utf8))
        }
    }

    @Test func `garbage on the report channel is ignored, and counted`() async throws {
        try await ExecOperationHarness.with { harness in
            let text = "echo garbage >&3; head -c 200000 /dev/zero >&3"
            let result = try #require(try await harness.outcome(text).result)
            #expect(result["reports"]?["garbageLines"]?.integer == 1)
            #expect(result["reports"]?["skippedBytes"]?.integer ?? 0 > 100_000)
        }
    }

    @Test func `a daemon that outlives its program is counted and ended, or left by the settings`() async throws {
        try await ExecOperationHarness.with { harness in
            let text = "setsid setsid sleep 1000 >/dev/null 2>&1 3>&- & sleep 0.1"
            for isLeft in [false, true] {
                harness.program.leavesDaemons = isLeft
                let id = CommandID()
                let outcome = try await harness.outcome(of: harness.execution(harness.payload(text), id: id))
                #expect(outcome.result?["survivors"]?.integer == 1, "\(outcome)")
                let left = processes(with: "SLUICE_COMMAND=\(id)")
                for pid in left { kill(pid, SIGKILL) }
                #expect(left.count == (isLeft ? 1 : 0))
                #expect(!LockProbe(path: harness.directories.lock(of: id)).isHeld)
            }
        }
    }

    @Test func `progress is reported to the worker`() async throws {
        try await ExecOperationHarness.with { harness in
            let meter = TransferMeter()
            let execution = try harness.execution(
                harness.payload(#"echo '{"progress": {"offset": 3, "total": 9}}' >&3"#), meter: meter)
            #expect(try await harness.outcome(of: execution).result != nil)
            #expect(meter.reading.offset == 3 && meter.reading.total == 9)
        }
    }

    // MARK: Input and environment

    @Test func `a program reads its input, and need not read it`() async throws {
        try await ExecOperationHarness.with { harness in
            let text = String(repeating: "x", count: 900_000)
            let whole = try await harness.outcome("wc -c", [.init("stdin", .string(text))]).result
            #expect(whole?["stdout"]?.string == "900000\n")
            let none = try await harness.outcome("exec 0<&-; exit 0", [.init("stdin", .string(text))])
            #expect(none.result?["exit"]?.integer == 0)
            let file = try harness.directory.file("input", Array("abc".utf8))
            #expect(
                try await harness.outcome("wc -c", [.init("stdinFile", .string(file))]).result?["stdout"]?.string
                    == "3\n")
            #expect(try await harness.outcome("wc -c").result?["stdout"]?.string == "0\n")
        }
    }

    @Test func `an input file that has become a symbolic link, or has gone, ends the command`() async throws {
        try await ExecOperationHarness.with { harness in
            let file = try harness.directory.file("input", Array("abc".utf8))
            let execution = try harness.execution(harness.payload("cat", [.init("stdinFile", .string(file))]))
            unlink(file)
            #expect(try await harness.outcome(of: execution).failure?.fault == .final)
            symlink("/etc/hostname", file)
            #expect(try await harness.outcome(of: execution).failure?.fault == .final)
        }
    }

    @Test func `a program sees the settings, the payload's variables and its command`() async throws {
        try await ExecOperationHarness.with { harness in
            let secret = try harness.directory.file("secret", Array("hush-hush\n".utf8))
            harness.program.environment = ["SIZE"]
            harness.program.set = [
                .init(name: "MODE", value: .text("batch")), .init(name: "TOKEN", value: .file(secret)),
            ]
            let id = CommandID()
            let execution = try harness.execution(
                harness.payload(
                    #"echo "$MODE $SIZE $SLUICE_COMMAND $SLUICE_CLAIM $SLUICE_ATTEMPT"; test "$PWD" = "$TMPDIR" && "#
                        + #"test "$TOKEN" = hush-hush && stat -c %a ."#,
                    [.init("environment", .object([.init("SIZE", "640")]))]), id: id, claim: 7)
            let result = try #require(try await harness.outcome(of: execution).result)
            #expect(result["stdout"]?.string == "batch 640 \(id) 7 1\n700\n")
        }
    }

    @Test func `a secret that a program repeats is neither in the result nor in the reason`() async throws {
        try await ExecOperationHarness.with { harness in
            let secret = try harness.directory.file("secret", Array("hush-hush\n".utf8))
            harness.program.set = [.init(name: "TOKEN", value: .file(secret))]
            let result = try #require(try await harness.outcome(#"echo "a $TOKEN b"; echo $TOKEN >&2"#).result)
            #expect(result["stdout"]?.string == "a [redacted] b\n" && result["stderr"]?.string == "[redacted]\n")
            let failure = try #require(try await harness.outcome(#"echo "no $TOKEN" >&2; exit 1"#).failure)
            #expect(failure.reason.contains("no [redacted]") && !failure.reason.contains("hush"))
        }
    }

    @Test func `a secret is neither in a value nor in a line that the reason cuts`() async throws {
        try await ExecOperationHarness.with { harness in
            let key = "first-part\n" + String(repeating: "hush", count: 100) + "\nlast-part"
            harness.program.set = [
                .init(name: "TOKEN", value: .file(try harness.directory.file("secret", Array(key.utf8))))
            ]
            let line = #"line=$(echo "$TOKEN" | sed -n 2p); "#
            let report = #"echo "{\"values\": {\"a\": [\"x $line\"]}}" >&3"#
            let result = try #require(try await harness.outcome(line + report).result)
            #expect(result["values"]?["a"]?.elements?.first?.string == "x [redacted]")
            let long = try #require(try await harness.outcome(line + #"echo "no $line" >&2; exit 1"#).failure)
            #expect(long.reason.hasSuffix(": no [redacted]"), "\(long)")
            let failure = try #require(try await harness.outcome(#"printf %s "$TOKEN" >&2; exit 1"#).failure)
            #expect(failure.reason.hasSuffix(": [redacted]"), "\(failure)")
            let rule = JSONValue.Member("stderr", .object([.init("limit", 100)]))
            let cut = try #require(
                try await harness.outcome(#"printf '%s and more' "$TOKEN" >&2; exit 1"#, [rule]).failure)
            #expect(cut.reason.hasSuffix(": [redacted] and more"), "\(cut)")
        }
    }

    @Test func `each run has a new output file, and an earlier run writes to the old one`() async throws {
        try await ExecOperationHarness.with { harness in
            harness.program.directory = harness.directory.path
            let path = try harness.directory.file("log", Array("older".utf8))
            chmod(path, 0o640)
            let earlier = OpenFile(owning: try openFile(path, O_WRONLY))
            let rule = JSONValue.Member("stdout", .object([.init("to", .string(path))]))
            #expect(try await harness.outcome("echo new", [rule]).result != nil)
            #expect(write(earlier.descriptor, "mixed in", 8) == 8)
            #expect(contents(of: path) == Array("new\n".utf8))
            var facts = stat()
            stat(path, &facts)
            #expect(facts.st_mode & 0o777 == 0o640)
        }
    }

    // MARK: Failures

    @Test(arguments: [
        ("exit 1", CommandFailure.Fault.command, "exited with code 1"), ("exit 75", .command, "temporary failure"),
        ("echo why >&2; exit 65", .final, "invalid data): why"), ("kill -SEGV $$", .command, "SIGSEGV"),
        ("kill -KILL $$", .command, "SIGKILL"), ("exit 127", .final, "127"),
    ])
    func `the end of a program decides the fault`(
        _ text: String, _ fault: CommandFailure.Fault, _ words: String
    ) async throws {
        try await ExecOperationHarness.with { harness in
            let failure = try #require(try await harness.outcome(text).failure)
            #expect(failure.fault == fault && failure.reason.contains(words), "\(failure)")
            #expect(!failure.ambiguous)
            #expect(harness.leftDirectories.isEmpty)
        }
    }

    @Test func `the report channel asks for a longer wait`() async throws {
        try await ExecOperationHarness.with { harness in
            let failure = try #require(try await harness.outcome(#"echo '{"retryAfter": 90}' >&3; exit 75"#).failure)
            #expect(failure.retryAfter == .seconds(90) && failure.fault == .command)
        }
    }

    @Test func `a program that takes too long is ended, and charged`() async throws {
        try await ExecOperationHarness.with { harness in
            let failure = try #require(
                try await harness.outcome("exec sleep 1000", [.init("timeout", .number(0.1))]).failure)
            #expect(failure.fault == .command && failure.reason.contains("timed out") && !failure.ambiguous)
        }
    }

    @Test func `an execution that is stopped ends its program, and is ambiguous`() async throws {
        try await ExecOperationHarness.with { harness in
            let mark = "\(harness.directory.path)/mark"
            let id = CommandID()
            let execution = try harness.execution(
                harness.payload(
                    "sleep 1000 & echo x > \(mark); trap '' TERM; wait; sleep 1000", [.init("grace", .number(0.2))]),
                id: id)
            let running = harness
            let task = Task { try await running.outcome(of: execution) }
            try await until("the program") { FileManager.default.fileExists(atPath: mark) }
            #expect(processes(with: "SLUICE_COMMAND=\(id)").count >= 2)
            task.cancel()
            let failure = try #require(try await task.value.failure)
            #expect(failure.ambiguous)
            #expect(processes(with: "SLUICE_COMMAND=\(id)").isEmpty)
            #expect(!LockProbe(path: harness.directories.lock(of: id)).isHeld)
            #expect(harness.leftDirectories.isEmpty)
        }
    }

    @Test func `an execution that is stopped before it begins starts nothing`() async throws {
        try await ExecOperationHarness.with { harness in
            let mark = "\(harness.directory.path)/mark"
            let execution = try harness.execution(harness.payload("echo x > \(mark)"))
            let running = harness
            let task = Task {
                try await until("the cancellation") { Task.isCancelled }
                return try await running.outcome(of: execution)
            }
            task.cancel()
            let outcome = try? await task.value
            #expect(outcome?.failure.map { !$0.ambiguous } ?? true)
            #expect(!FileManager.default.fileExists(atPath: mark))
        }
    }

    // MARK: Rules

    @Test func `payloads that the settings do not allow are refused at submit`() async throws {
        try await ExecOperationHarness.with { harness in
            harness.program.allowedArguments = .matching([ArgumentPattern(text: "/in/*")])
            harness.program.allowsInput = false
            let operation = harness.operation
            func refusal(_ json: String) -> PayloadError? {
                do throws(PayloadError) {
                    guard let value = try? JSONValue(parsing: Array(json.utf8)) else { return nil }
                    _ = try operation.inspect(value)
                    return nil
                } catch {
                    return error
                }
            }
            let long = String(repeating: "x", count: 131_072)
            for (json, words) in [
                (#"{"program": "other"}"#, "sluice.yaml has no program “other”; there are: “script”"),
                (#"{"program": "/bin/sh"}"#, "has no program “/bin/sh”"),
                (#"{"program": "script", "arguments": ["rm"]}"#, "does not allow the argument “rm”"),
                (#"{"program": "script", "arguments": ["\#(long)"]}"#, "131072 bytes"),
                (#"{"program": "script", "stdin": "a"}"#, "takes no input"),
                (#"{"program": "script", "environment": {"LD_PRELOAD": "a"}}"#, "could run other code"),
                (#"{"program": "script", "environment": {"SIZE": "a"}}"#, "does not allow “SIZE”"),
                (#"{"program": "script", "directory": "/in"}"#, "has no directory"),
                (#"{"program": "script", "shell": true}"#, "unknown key “shell”"),
            ] {
                let error = try #require(refusal(json), "\(json.prefix(80))")
                #expect(error.problem == .data && error.message.contains(words), "\(error)")
            }
            harness.program.allowsInput = true
            let input = try? JSONValue(parsing: Array(#"{"program": "script", "stdinFile": "/no/such"}"#.utf8))
            let error = #expect(throws: PayloadError.self) { try harness.operation.inspect(try #require(input)) }
            #expect(error?.problem == .source)
        }
    }

    @Test func `a program that the worker does not know is tried again, one that it forbids is not`() async throws {
        try await ExecOperationHarness.with { harness in
            let execution = try harness.execution(harness.payload("exit 0"))
            harness.program.name = "renamed"
            let unknown = try #require(try await harness.outcome(of: execution).failure)
            #expect(unknown.fault == .command && unknown.reason.contains("has no program “script”"))
            harness.program.name = "script"
            harness.program.allowedArguments = .none
            #expect(try await harness.outcome(of: execution).failure?.fault == .final)
        }
    }

    @Test func `a program has at most its own number of runs`() async throws {
        try await ExecOperationHarness.with { harness in
            #expect(!harness.operation.preparesBeforeSending)
            harness.program.concurrency = 2
            let operation = harness.operation
            #expect(operation.preparesBeforeSending)
            let file = try harness.directory.file("runs", [])
            let text = "echo + >> \(file); sleep 0.05; echo - >> \(file)"
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    let execution = try harness.execution(harness.payload(text))
                    group.addTask {
                        try await operation.prepare(execution)
                        _ = try await operation.execute(execution)
                    }
                }
                try await group.waitForAll()
            }
            var (running, peak) = (0, 0)
            for byte in contents(of: file) ?? [] where byte != 0x0A {
                running += byte == UInt8(ascii: "+") ? 1 : -1
                peak = max(peak, running)
            }
            #expect(peak == 2 && running == 0)
        }
    }

    @Test func `a slot that was taken for an execution that never ran is free again`() async throws {
        try await ExecOperationHarness.with { harness in
            harness.program.concurrency = 1
            let operation = harness.operation
            var first: CommandExecution? = try harness.execution(harness.payload("exit 0"))
            try await operation.prepare(try #require(first))
            let second = try harness.execution(harness.payload("exit 0"))
            let waiting = Task { try await operation.prepare(second) }
            let cancelled = Task { try await operation.prepare(second) }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            first = nil
            try await waiting.value
        }
    }

    @Test func `an execution removes the directories of earlier ones of its command`() async throws {
        try await ExecOperationHarness.with { harness in
            let id = CommandID()
            for name in ["\(id).1", "\(id).2/deep", "\(id).4", "\(CommandID()).1"] {
                _ = try harness.directory.makeDirectory("exec/\(name)")
            }
            let execution = try harness.execution(harness.payload("exit 0"), id: id, claim: 3)
            #expect(try await harness.outcome(of: execution).result != nil)
            #expect(harness.leftDirectories.count == 2 && harness.leftDirectories.contains("\(id).4"))
        }
    }

    @Test func `directories of runs that died are removed, and no others`() async throws {
        try await ExecOperationHarness.with { harness in
            let (dead, running, id) = (CommandID(), CommandID(), CommandID())
            let lock = try FileLock.attempt(harness.directories.lock(of: running))
            for name in ["\(dead).1/deep/er", "\(running).2", "keep", "\(id).x"] {
                _ = try harness.directory.makeDirectory("exec/\(name)")
            }
            ExecLeftovers.remove(in: harness.directories)
            #expect(harness.leftDirectories.count == 4)
            ExecLeftovers.remove(in: harness.directories, minAge: 0)
            #expect(Set(harness.leftDirectories) == ["\(running).2", "keep", "\(id).x"])
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `a directory stays where the lock of its run cannot be looked at`() async throws {
        try await ExecOperationHarness.with { harness in
            let id = CommandID()
            _ = try harness.directory.makeDirectory("exec/\(id).1")
            let lock = harness.directories.lock(of: id)
            // It leads to itself, so that it cannot be opened.
            #expect(symlink(lock, lock) == 0)
            ExecLeftovers.remove(in: harness.directories, minAge: 0)
            #expect(harness.leftDirectories == ["\(id).1"])
            unlink(lock)
            ExecLeftovers.remove(in: harness.directories, minAge: 0)
            #expect(harness.leftDirectories.isEmpty)
        }
    }

    @Test func `directories of programs of another user are removed in the shared directory, and no others`()
        async throws
    {
        try await ExecOperationHarness.with { harness in
            let (directories, dead) = (harness.directories, CommandID())
            let (directory, file) = (directories.sharedPath("\(dead).1"), directories.sharedPath("\(dead).2"))
            let link = directories.sharedPath("\(dead).3")
            let other = ExecDirectories(temporary: "\(directories.temporary)-other") { "/no/such/lock-\($0)" }
            let foreign = other.sharedPath("\(dead).1")
            defer { for path in [directory, file, link, foreign] where unlink(path) != 0 { rmdir(path) } }
            #expect(mkdir(directory, 0o700) == 0 && mkdir(foreign, 0o700) == 0)
            #expect(symlink(harness.directory.path, link) == 0 && mkfifo(file, 0o600) == 0)
            ExecLeftovers.remove(in: directories, owners: [geteuid() + 1], minAge: 0)
            #expect(access(directory, F_OK) == 0)
            ExecLeftovers.remove(in: directories, minAge: 0)
            #expect(access(directory, F_OK) != 0)
            for path in [file, link, foreign] { #expect(access(path, F_OK) == 0) }
            // An execution does the same for the earlier ones of its command.
            #expect(mkdir(directory, 0o700) == 0)
            ExecLeftovers.remove(of: dead, before: 4, in: directories)
            #expect(access(directory, F_OK) != 0 && access(link, F_OK) == 0)
        }
    }
}

import Foundation
import Host
import TestSupport
import Testing

@testable import Exec
@testable import Transfers

/// The state in which a program starts, and programs that cannot start.
@Suite struct ProgramStartTests {
    @Test(arguments: [
        ["; rm -rf /"], ["$(x)", "`x`"], ["a\nb"], [""], ["-n", "--", "-"], ["*", "?", "~", "%s", "\\"],
        ["'\"", "é\u{301}"],
        [], [String(repeating: "x", count: 131_071)],
    ])
    func `arguments reach the program unchanged`(_ arguments: [String]) async throws {
        try await withHarness { harness in
            let run = try await harness.run(#"for a in "$@"; do printf '%s\0' "$a"; done"#, arguments)
            #expect(run.end.outcome == .exited(0))
            #expect(run.output.count == Int64(arguments.reduce(0) { $0 + $1.utf8.count + 1 }))
            #expect(run.output.bytes == arguments.flatMap { Array($0.utf8) + [0] })
        }
    }

    @Test func `a program sees only its environment, with a private umask, in its directory`() async throws {
        try await withHarness { harness in
            var program = try harness.script("env; umask; pwd")
            program.environment = ["B=1", "A=x y"]
            let run = try await harness.run(program)
            let lines = Set(run.text.split(separator: "\n").map(String.init))
            // The shell sets PWD itself.
            #expect(lines == ["B=1", "A=x y", "PWD=\(harness.directory.path)", "0077", harness.directory.path])
        }
    }

    @Test(arguments: [true, false])
    func `a program has the descriptors 0, 1 and 2, and 3 with a report channel`(_ reports: Bool) async throws {
        try await withHarness { harness in
            // Descriptors of this process that are not close-on-exec.
            let extra = (0..<5).map { _ in dup(1) } + [fcntl(1, F_DUPFD, 700)]
            defer { for descriptor in extra { close(descriptor) } }
            var program = try harness.script("ls /proc/$$/fd; :")
            program.hasReportChannel = reports
            #expect(try await harness.run(program).text == (reports ? "0\n1\n2\n3\n" : "0\n1\n2\n"))
        }
    }

    @Test func `a program has default signals, no new privileges, and a session of its own`() async throws {
        try await withHarness { harness in
            signal(SIGUSR1, SIG_IGN)
            defer { signal(SIGUSR1, SIG_DFL) }
            let run = try await harness.run(
                try harness.program("/usr/bin/cat", ["/proc/self/status", "/proc/self/stat"]))
            let text = run.text
            for name in ["SigBlk", "SigIgn", "SigCgt"] { #expect(text.contains("\(name):\t0000000000000000")) }
            #expect(text.contains("NoNewPrivs:\t1"))
            let pid = try #require(run.pid)
            let fields = text.split(separator: "\n").last?.split(separator: " ").map(String.init) ?? []
            // pid, name, state, parent, group, session
            #expect(fields[0] == "\(pid)" && fields[4] == "\(pid)" && fields[5] == "\(pid)")
            #expect(fields[3] != "\(getpid())")
        }
    }

    @Test func `a limit that the worker already has lower is not raised`() async throws {
        try await withHarness { harness in
            var program = try harness.script("ulimit -n; ulimit -c")
            program.limits = [ResourceLimit(.openFiles, soft: 64, hard: 128), ResourceLimit(.coreFile, soft: .max)]
            var own = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &own)
            let core = own.rlim_cur == .max ? "unlimited" : "\(own.rlim_cur / 512)"
            #expect(try await harness.run(program).text == "64\n\(core)\n")
        }
    }

    @Test(.enabled(if: isRoot)) func `a program runs as its user, with the groups of that user only`() async throws {
        try await withHarness { harness in
            var program = try harness.script(
                "id -u; id -g; id -G; grep CapEff /proc/self/status; kill -0 1 2>/dev/null || echo no")
            program.user = ProgramUser(user: 65_534, group: 65_534, groups: [65_534, 12_345], home: "/")
            program.directory = try OpenFile("/", O_RDONLY)
            #expect(
                try await harness.run(program).text
                    == "65534\n65534\n65534 12345\nCapEff:\t0000000000000000\nno\n")
        }
    }

    @Test(.enabled(if: isRoot)) func `a user of the system is found with its groups`() throws {
        #expect(try ProgramUser.named("root") == ProgramUser(user: 0, group: 0, groups: [0], home: "/root"))
        #expect(try ProgramUser.named("no-such-user") == nil)
    }

    // MARK: Failures

    struct Failure: Sendable, CustomTestStringConvertible {
        var name: String
        var text: String
        var mode: mode_t
        var code: Int32

        var testDescription: String { name }
    }

    @Test(arguments: [
        Failure(name: "no interpreter", text: "#!/no/such/interpreter\n", mode: 0o755, code: ENOENT),
        Failure(name: "not executable", text: "#!/bin/sh\n", mode: 0o644, code: EACCES),
        Failure(name: "no format", text: "neither ELF nor a script", mode: 0o755, code: ENOEXEC),
        Failure(name: "empty", text: "", mode: 0o755, code: ENOEXEC),
        Failure(name: "its interpreter is a directory", text: "#!/usr\n", mode: 0o755, code: EACCES),
    ])
    func `a file that is not a program is a failure of execve`(_ failure: Failure) async throws {
        try await withHarness { harness in
            let path = try harness.executable("program", failure.text, mode: failure.mode)
            let run = try await harness.run(try harness.program(path))
            #expect(run.end.outcome == .notStarted(ProgramStartFailure(.execute, failure.code)))
            #expect(run.pid == nil)
            #expect(!FileManager.default.fileExists(atPath: harness.lock))
        }
    }

    @Test func `a program that is being written, or has gone, does not start`() async throws {
        try await withHarness { harness in
            let path = try harness.executable("program", "")
            #expect(rename(try harness.executable("copy", ""), path) == 0)
            let bytes = try #require(contents(of: "/usr/bin/true"))
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            chmod(path, 0o755)
            let program = try harness.program(path)
            let writer = open(path, O_WRONLY)
            #expect(
                try await harness.run(program).end.outcome == .notStarted(ProgramStartFailure(.execute, ETXTBSY)))
            close(writer)
            #expect(try await harness.run(program).end.outcome == .exited(0))
            unlink(path)
            #expect(try await harness.run(program).end.outcome == .notStarted(ProgramStartFailure(.execute, ENOENT)))
        }
    }

    @Test func `too many arguments, and one that is too long, are E2BIG`() async throws {
        try await withHarness { harness in
            for arguments in [[String(repeating: "x", count: 200_000)], Array(repeating: "0123456789", count: 200_000)]
            {
                let run = try await harness.run(try harness.program("/usr/bin/true", arguments))
                #expect(run.end.outcome == .notStarted(ProgramStartFailure(.execute, E2BIG)))
            }
        }
    }

    @Test func `a zero byte in an argument is refused instead of cutting it`() async throws {
        try await withHarness { harness in
            let run = try await harness.run(try harness.program("/usr/bin/true", ["a\0b"]))
            #expect(run.end.outcome == .notStarted(ProgramStartFailure(.prepare, EINVAL)))
        }
    }

    @Test func `a program that was replaced after its check does not start`() async throws {
        try await withHarness { harness in
            let path = try harness.executable("program", "#!/bin/sh\necho first\n")
            let program = try harness.program(path)
            #expect(try await harness.run(program).text == "first\n")
            let other = try harness.executable("other", "#!/bin/sh\necho second\n")
            #expect(rename(other, path) == 0)
            let failure = ProgramEnd.Outcome.notStarted(ProgramStartFailure(.program, ESTALE))
            #expect(try await harness.run(program).end.outcome == failure)
            unlink(path)
            symlink("/usr/bin/true", path)
            #expect(try await harness.run(program).end.outcome == failure)
        }
    }

    @Test func `a directory that was replaced after its check stays the checked one`() async throws {
        try await withHarness { harness in
            let base = try harness.directory.makeDirectory("base/in")
            var program = try harness.script("pwd -P; ls")
            program.directory = try ExecDirectory.open(base, in: harness.directory.path)
            _ = try harness.directory.file("base/in/mark", [])
            #expect(rename(base, "\(base).old") == 0)
            symlink("/etc", base)
            #expect(try await harness.run(program).text == "\(base).old\nmark\n")
        }
    }

    @Test(.enabled(if: isRoot)) func `a directory that the user may not enter is a failure`() async throws {
        try await withHarness { harness in
            var program = try harness.program("/usr/bin/true")
            program.user = ProgramUser(user: 65_534, group: 65_534, groups: [], home: "/")
            #expect(
                try await harness.run(program).end.outcome == .notStarted(ProgramStartFailure(.directory, EACCES)))
        }
    }

    /// The process is killed by its guardian's list of children, in the time between its fork and its execve.
    @Test(.enabled(if: runsSlowTests)) func `a process that is killed before its execve has not started`() async throws
    {
        try await withHarness { harness in
            var program = try harness.program("/usr/bin/sleep", ["1000"])
            // Makes the execve longer: the kernel copies it.
            program.environment = (0..<15).map { "A\($0)=" + String(repeating: "x", count: 100_000) }
            var early = 0
            for _ in 0..<200 where early < 3 {
                let process = GuardedProcess(program)
                // Without a sleep: the time is a millisecond at most.
                let victim = onThreadSpin {
                    children(of: getpid()).flatMap(children(of:)).lazy.flatMap(children(of:)).first
                }
                kill(try #require(victim), SIGKILL)
                var outcome: ProgramEnd.Outcome?
                while let event = await process.next() { if case .ended(let end) = event { outcome = end.outcome } }
                if outcome == .notStarted(ProgramStartFailure(.killed, SIGKILL)) {
                    early += 1
                } else {
                    #expect(outcome == .signalled(SIGKILL))
                }
            }
            #expect(early == 3)
        }
    }
}

/// Calls `look` for at most 10 s until it finds a value.
private func onThreadSpin<Value>(_ look: () -> Value?) -> Value? {
    let deadline = ContinuousClock.now + .seconds(10)
    while ContinuousClock.now < deadline { if let value = look() { return value } }
    return nil
}

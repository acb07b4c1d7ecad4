import Foundation
import Host
import TestSupport
import Testing

@testable import Exec
@testable import Transfers

/// The end of programs and of their descendants.
@Suite struct ProgramEndTests {
    @Test(arguments: [(0, 0), (1, 1), (75, 75), (255, 255), (256, 0), (257, 1)] as [(Int, Int32)])
    func `an exit code is that of wait`(_ code: Int, _ seen: Int32) async throws {
        try await withHarness { harness in
            let run = try await harness.run(try harness.program(perl, ["-e", "use POSIX; POSIX::_exit(\(code))"]))
            #expect(run.end.outcome == .exited(seen))
            #expect(run.end.stop == nil && run.end.survivors == 0 && !run.end.wasKilled && run.end.outputIsWhole)
        }
    }

    @Test(arguments: [SIGKILL, SIGSEGV, SIGTERM, SIGPIPE, 34])
    func `a signal that the worker did not send ends the program by itself`(_ signal: Int32) async throws {
        try await withHarness { harness in
            let run = try await harness.run("kill -\(signal) $$")
            #expect(run.end.outcome == .signalled(signal))
            #expect(run.end.stop == nil)
        }
    }

    @Test func `a limit of processor time and of a file's size end the program by their signals`() async throws {
        try await withHarness { harness in
            var program = try harness.script("while :; do :; done")
            program.limits = [ResourceLimit(.processorTime, soft: 1, hard: 2)]
            let run = try await harness.run(program)
            #expect(run.end.outcome == .signalled(SIGXCPU))
            #expect(run.end.userTime + run.end.systemTime > .milliseconds(800))
            program = try harness.program("/usr/bin/dd", ["if=/dev/zero", "of=big", "bs=1000", "count=100"])
            program.limits = [ResourceLimit(.fileSize, soft: 10_000)]
            #expect(try await harness.run(program).end.outcome == .signalled(SIGXFSZ))
        }
    }

    @Test func `the use of resources is that of the program and its descendants, without the worker's`() async throws {
        try await withHarness { harness in
            let heap = [UInt8](repeating: 1, count: 128 << 20)
            let run = try await harness.run(
                try harness.program(perl, ["-e", "my $x = 'y' x 40_000_000; my $n = 0; $n++ while (times)[0] < 0.1;"]))
            withExtendedLifetime(heap) {}
            #expect(run.end.outcome == .exited(0))
            #expect((40 << 20...110 << 20).contains(run.end.maxResident))
            #expect(run.end.userTime > .milliseconds(50))
            #expect(run.end.duration >= run.end.userTime)
            let small = try await harness.run("exit 0")
            #expect(small.end.maxResident < 8 << 20)
        }
    }

    // MARK: Descendants

    /// Forks twice, with a session in between; the daemon keeps no output open, and writes its number when the
    /// process between has ended.
    static let daemon = """
        use POSIX; exit 0 if fork; setsid; my $parent = $$; exit 0 if fork;
        select(undef, undef, undef, 0.005) while getppid == $parent;
        open(STDIN, '/dev/null'); open(STDOUT, '>/dev/null'); open(STDERR, '>/dev/null'); POSIX::close(3);
        open(F, '>pid.new'); print F $$; close F; rename('pid.new', 'pid');
        %SIG
        sleep 1000
        """

    private func daemon(_ harness: Harness, ignores: Bool = false) throws -> GuardedProgram {
        let code = Self.daemon.replacing("%SIG", with: ignores ? "$SIG{TERM} = 'IGNORE';" : "")
        return try harness.script("perl -e \"$1\"; while ! test -e pid; do sleep 0.01; done", [code])
    }

    @Test(arguments: [false, true])
    func `a daemon is a survivor, and is ended`(_ ignoresTerm: Bool) async throws {
        try await withHarness { harness in
            let began = ContinuousClock.now
            let run = try await harness.run(try daemon(harness, ignores: ignoresTerm))
            #expect(run.end.outcome == .exited(0))
            #expect(run.end.survivors == 1)
            #expect(run.end.stop == nil)
            let pid = try #require(contents(of: "\(harness.directory.path)/pid")).reduce(0) { $0 * 10 + Int32($1 - 48) }
            #expect(!isAlive(pid))
            #expect(run.end.wasKilled == ignoresTerm)
            if ignoresTerm { #expect(ContinuousClock.now - began > .seconds(1)) }
        }
    }

    @Test func `a daemon is left by request, without the lock`() async throws {
        try await withHarness { harness in
            var program = try daemon(harness)
            program.leavesDaemons = true
            let run = try await harness.run(program)
            #expect(run.end.outcome == .exited(0))
            #expect(run.end.survivors == 1)
            #expect(!run.end.wasKilled)
            let pid = try #require(contents(of: "\(harness.directory.path)/pid")).reduce(0) { $0 * 10 + Int32($1 - 48) }
            #expect(isAlive(pid))
            #expect(!LockProbe(path: harness.lock).isHeld)
            #expect(try FileLock.attempt(harness.lock) != nil)
            kill(pid, SIGKILL)
        }
    }

    @Test func `processes in the session of the program end also where daemons are left`() async throws {
        try await withHarness { harness in
            var program = try harness.script("sleep 1000 & echo $!; exit 3")
            program.leavesDaemons = true
            let run = try await harness.run(program)
            #expect(run.end.outcome == .exited(3))
            #expect(run.end.survivors == 1)
            #expect(!isAlive(try #require(Int32(run.text.dropLast()))))
        }
    }

    @Test func `a process that forks and exits again and again is caught`() async throws {
        try await withHarness { harness in
            // Each generation lives for a moment, has a session of its own, and ignores TERM.
            let comet =
                "use POSIX; $SIG{TERM}='IGNORE'; for (;;) { exit if fork; setsid; open F,'>comet'; print F $$; close F }"
            var program = try harness.script("perl -e \"$1\"; sleep 0.1; exit 0", [comet])
            program.grace = .milliseconds(100)
            let run = try await harness.run(program)
            #expect(run.end.outcome == .exited(0))
            #expect(run.end.survivors >= 1)
            let before = contents(of: "\(harness.directory.path)/comet")
            try await Task.sleep(for: .milliseconds(100))
            #expect(contents(of: "\(harness.directory.path)/comet") == before)
        }
    }

    @Test func `hundreds of survivors are ended and counted`() async throws {
        try await withHarness { harness in
            let run = try await harness.run(
                "exec </dev/null >/dev/null 2>&1 3>&-; i=0; while [ $i -lt 400 ]; do setsid sleep 1000 & i=$((i+1)); done"
            )
            #expect(run.end.outcome == .exited(0))
            #expect(run.end.survivors == 400)
        }
    }

    @Test func `orphans that end while the program runs are reaped`() async throws {
        try await withHarness { harness in
            let text =
                "i=0; while [ $i -lt 20 ]; do sh -c 'sleep 0.05 & exit'; i=$((i+1)); done; sleep 0.4; "
                + "cat /proc/$PPID/task/$PPID/children | wc -w; sleep 0.05"
            let run = try await harness.run(text)
            #expect(run.text == "1\n")
        }
    }

    // MARK: Stops

    private func stop(
        _ harness: Harness, _ text: String, grace: Duration, when ready: String = "ready\n"
    ) async throws -> Run {
        try await harness.run(try harness.script(text)) { process, event in
            if case .output(.output, let bytes) = event, bytes == Array(ready.utf8) { process.cancel(grace: grace) }
        }
    }

    @Test func `a cancelled program gets TERM, and its children do too`() async throws {
        try await withHarness { harness in
            let run = try await stop(
                harness, "trap 'echo bye; exit 7' TERM; sleep 1000 & echo ready; wait", grace: .seconds(20))
            #expect(run.text == "ready\nbye\n")
            #expect(run.end.outcome == .exited(7))
            #expect(run.end.stop == .cancelled)
            #expect(!run.end.wasKilled && run.end.survivors == 0)
        }
    }

    @Test(arguments: [
        "trap '' TERM; echo ready; while :; do sleep 0.1; done",
        "trap '' TERM; sh -c 'setsid sleep 1000 &'; echo ready; while :; do sleep 0.1; done",
    ])
    func `a program that ignores TERM is killed after the grace`(_ text: String) async throws {
        try await withHarness { harness in
            let began = ContinuousClock.now
            let run = try await stop(harness, text, grace: .milliseconds(300))
            #expect(run.end.outcome == .signalled(SIGKILL))
            #expect(run.end.stop == .cancelled && run.end.wasKilled)
            #expect((.milliseconds(300)...(.seconds(3))).contains(ContinuousClock.now - began))
        }
    }

    @Test func `a stopped program gets TERM and CONT`() async throws {
        try await withHarness { harness in
            var pid: Int32 = 0
            let run = try await harness.run(
                try harness.script("trap 'exit 8' TERM; echo ready; kill -STOP $$; sleep 1000 & wait")
            ) { process, event in
                if case .started(let its) = event { pid = its }
                guard case .output = event else { return }
                try await until("the stop of the program") { ProcessIdentity.isStopped(pid) }
                process.cancel(grace: .seconds(20))
            }
            #expect(run.end.outcome == .exited(8))
            #expect(run.end.stop == .cancelled && !run.end.wasKilled)
        }
    }

    @Test func `stopped daemons and other process groups end with a cancellation`() async throws {
        try await withHarness { harness in
            let began = ContinuousClock.now
            let text =
                "setsid sh -c 'kill -STOP $$' & setsid setsid sleep 1000 & timeout 1000 sleep 1000 & sleep 0.1; "
                + "echo ready; wait"
            let run = try await stop(harness, text, grace: .seconds(20))
            #expect(run.end.outcome == .signalled(SIGTERM))
            #expect(ContinuousClock.now - began < .seconds(10))
        }
    }

    @Test func `a cancellation without grace kills at once`() async throws {
        try await withHarness { harness in
            let run = try await stop(harness, "trap '' TERM; echo ready; sleep 1000", grace: .zero)
            #expect(run.end.outcome == .signalled(SIGKILL))
        }
    }

    @Test func `a second cancellation shortens the grace`() async throws {
        try await withHarness { harness in
            let began = ContinuousClock.now
            let run = try await harness.run(
                try harness.script("trap 'echo again' TERM; echo ready; while :; do sleep 0.1; done")
            ) { process, event in
                if case .output(_, Array("ready\n".utf8)) = event { process.cancel(grace: .seconds(600)) }
                if case .output(_, Array("again\n".utf8)) = event { process.cancel(grace: .milliseconds(50)) }
            }
            #expect(run.end.outcome == .signalled(SIGKILL))
            #expect(ContinuousClock.now - began < .seconds(10))
        }
    }

    @Test func `a cancellation before the start keeps the program from starting or ends it`() async throws {
        try await withHarness { harness in
            for _ in 0..<20 {
                let process = GuardedProcess(try harness.program("/usr/bin/sleep", ["1000"]))
                process.cancel(grace: .seconds(10))
                var end: ProgramEnd?
                while let event = await process.next() { if case .ended(let last) = event { end = last } }
                #expect(end?.stop == .cancelled)
                switch end?.outcome {
                case .signalled(SIGTERM): break
                case .notStarted(let failure): #expect(failure.step == .cancelled)
                default: Issue.record("\(String(describing: end))")
                }
            }
        }
    }

    @Test func `a program ends at its timeout and at its idle timeout`() async throws {
        try await withHarness { harness in
            var program = try harness.script("while :; do echo x; sleep 0.05; done")
            program.timeout = .milliseconds(300)
            program.idleTimeout = .seconds(5)
            var run = try await harness.run(program)
            #expect(run.end.stop == .timedOut)
            #expect(run.end.outcome == .signalled(SIGTERM))
            program = try harness.script("echo x; sleep 1000")
            program.timeout = .seconds(100)
            program.idleTimeout = .milliseconds(200)
            run = try await harness.run(program)
            #expect(run.end.stop == .idle)
            #expect(run.text == "x\n")
        }
    }

    @Test func `a program that writes to a file is not idle`() async throws {
        try await withHarness { harness in
            for isError in [false, true] {
                let text = "for i in $(seq 20); do echo x; sleep 0.1; done"
                var program = try harness.script(isError ? "exec >&2; \(text)" : text)
                let path = "\(harness.directory.path)/out"
                let file = OpenFile(owning: try openFile(path, O_WRONLY | O_CREAT | O_TRUNC))
                if isError { program.error = .file(file) } else { program.output = .file(file) }
                program.idleTimeout = .milliseconds(800)
                let run = try await harness.run(program)
                #expect(run.end.stop == nil && run.end.outcome == .exited(0))
                #expect(contents(of: path)?.count == 40)
            }
            var program = try harness.script("echo x; sleep 1000")
            let path = "\(harness.directory.path)/still"
            program.output = .file(OpenFile(owning: try openFile(path, O_WRONLY | O_CREAT)))
            program.idleTimeout = .milliseconds(200)
            #expect(try await harness.run(program).end.stop == .idle)
        }
    }

    @Test func `a process without references is killed`() async throws {
        try await withHarness { harness in
            var process: GuardedProcess? = GuardedProcess(try harness.program("/usr/bin/sleep", ["1000"]))
            guard case .started(let pid) = await process?.next() else { throw Missed("the program did not start") }
            #expect(isAlive(pid))
            process = nil
            try await until("the end of the program") { !isAlive(pid) }
            try await until("the lock") { !LockProbe(path: harness.lock).isHeld }
        }
    }

    // MARK: The guardian

    @Test func `the kernel kills the program of a guardian that is killed`() async throws {
        try await withHarness { harness in
            let run = try await harness.run(try harness.program("/usr/bin/sleep", ["1000"])) { _, event in
                guard case .started = event else { return }
                for guardian in guardians(of: getpid()) { kill(guardian, SIGKILL) }
            }
            #expect(run.end.outcome == .guardianLost)
            try await until("the end of the program") { [pid = try #require(run.pid)] in !isAlive(pid) }
        }
    }

    @Test func `the lock is held while the program runs, and has no file afterwards`() async throws {
        try await withHarness { harness in
            let run = try await harness.run(try harness.script("echo ready; sleep 0.5; exit 1")) { _, event in
                guard case .output = event else { return }
                #expect(LockProbe(path: harness.lock).isHeld)
            }
            #expect(run.end.outcome == .exited(1))
            #expect(!FileManager.default.fileExists(atPath: harness.lock))
        }
    }

    @Test func `a second run waits for the lock of the first`() async throws {
        try await withHarness { harness in
            let first = GuardedProcess(try harness.program("/usr/bin/sleep", ["0.3"]))
            guard case .started = await first.next() else { throw Missed("the program did not start") }
            let second = try await harness.run("exit 0")
            #expect(second.isWaiting)
            #expect(second.end.outcome == .exited(0))
            while await first.next() != nil {}
        }
    }

    @Test func `the wait for the lock ends at its timeout and at a cancellation`() async throws {
        try await withHarness { harness in
            let lock = try #require(try FileLock.attempt(harness.lock))
            var program = try harness.script("exit 0")
            program.lockTimeout = .milliseconds(100)
            var run = try await harness.run(program)
            #expect(run.end.outcome == .notStarted(ProgramStartFailure(.lockTimeout, EWOULDBLOCK)))
            program.lockTimeout = .seconds(600)
            run = try await harness.run(program) { process, event in
                if event == .waitingForLock { process.cancel(grace: .seconds(10)) }
            }
            #expect(run.end.outcome == .notStarted(ProgramStartFailure(.cancelled, ECANCELED)))
            #expect(run.end.stop == .cancelled)
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `many runs with one lock exclude each other`() async throws {
        try await withHarness { harness in
            // Fails where another one is between mkdir and rmdir.
            let program = try harness.script("mkdir here || exit 9; sleep 0.01; rmdir here")
            let outcomes = try await withThrowingTaskGroup(of: ProgramEnd.Outcome.self) { group in
                for _ in 0..<24 { group.addTask { try await harness.run(program).end.outcome } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.allSatisfy { $0 == .exited(0) })
            #expect(!FileManager.default.fileExists(atPath: harness.lock))
        }
    }
}

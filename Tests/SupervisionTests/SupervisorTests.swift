import CLinux
import Glibc
import Host
import Logging
import ServiceLifecycle
import Testing

@testable import Supervision

@Suite(.timeLimit(.minutes(2))) struct SupervisorTests {
    let listener: Listener
    let events = Events()

    init() throws {
        listener = try Listener()
    }

    /// Says `ready`, and ends at SIGTERM with `code` after it has said `bye`. A shell that waits for input
    /// can miss the signal just before it begins to: this one looks between two short sleeps.
    private func polite(_ name: String, _ code: Int = 0) -> String {
        "trap 'echo \(name) bye >&2; exit \(code)' TERM; echo \(name) ready >&2; "
            + "for i in $(seq 1 2000); do sleep 0.05; done"
    }

    /// Ends by nothing but SIGKILL, or the end of the test.
    private let stubborn = "trap '' TERM; echo ready >&2; cat > /dev/null 2>&1"

    private func quick() -> RestartPolicy {
        var policy = RestartPolicy()
        policy.firstDelay = .milliseconds(20)
        return policy
    }

    @Test func `a child that dies is started again, each time after a longer delay`() async throws {
        let supervisor = supervisor([shell("worker", "exit 3")], policy: quick(), listener: listener, events: events)
        let begin = MonotonicTime.now
        await #expect(throws: SupervisionError.self) { try await supervisor.run() }
        let elapsed = MonotonicTime.now - begin
        #expect(events.seen.map(\.status) == Array(repeating: .exited(3), count: 5))
        #expect(events.seen.allSatisfy { !$0.isIntentional && $0.pid > 0 })
        #expect(Set(events.seen.map(\.pid)).count == 5)
        #expect(elapsed >= Duration.milliseconds(20 + 40 + 80 + 160))
    }

    @Test func `five deaths stop all children with an error that names child, status and last lines`() async throws {
        let supervisor = supervisor(
            [
                shell("coordinator", polite("coordinator"), stage: .last),
                shell("worker", "read -r line < /dev/null; echo first >&2; echo cannot open the store >&2; exit 70"),
            ], policy: quick(), listener: listener, events: events)
        let error = await #expect(throws: SupervisionError.self) { try await supervisor.run() }
        let said = error?.description ?? ""
        #expect(said.contains("worker died 5 times"))
        #expect(said.contains("exit status 70"))
        #expect(said.hasSuffix("first\ncannot open the store"))
        guard case .tooManyDeaths(let exit, _, _)? = error else {
            Issue.record("not too many deaths")
            return
        }
        #expect(exit.status == .exited(70))
        #expect(events.seen.last?.name == "coordinator")
        #expect(events.seen.last?.isIntentional == true)
    }

    /// The lines of a run differ in their times and process ids.
    @Test func `one cause of failure is passed on once, however often the child is tried`() async throws {
        var policy = RestartPolicy()
        policy.maxDelay = .milliseconds(5)
        let directory = "/tmp/sluice-supervisor-\(getpid())"
        mkdir(directory, 0o700)
        defer { for name in ["/log", ""] { remove(directory + name) } }
        let child = """
            echo >> \(directory)/log; count=$(wc -l < \(directory)/log)
            if [ $count -lt 9 ]; then echo "$$ at $(date +%s): no room" >&2; exit 74; fi
            if [ $count -lt 12 ]; then echo "$$: a lock is held" >&2; exit 75; fi
            echo runs >&2; exec sleep 1000
            """
        let supervisor = supervisor([shell("worker", child)], policy: policy, listener: listener, events: events)
        async let run: Void = supervisor.run()
        let lines = [await listener.next(), await listener.next(), await listener.next()]
        #expect(lines[0]?.hasSuffix("no room") == true && lines[1]?.hasSuffix("a lock is held") == true, "\(lines)")
        #expect(lines[2] == "runs")
        #expect(events.seen.count == 11)
        supervisor.stop()
        try await run
    }

    @Test func `the first stop ends workers and then the coordinator`() async throws {
        let supervisor = supervisor(
            [
                shell("coordinator", polite("coordinator"), stage: .last), shell("worker-1", polite("worker-1")),
                shell("worker-2", polite("worker-2")),
            ], listener: listener, events: events)
        async let run: Void = supervisor.run()
        #expect(await events.ready(3, listener) == ["coordinator ready", "worker-1 ready", "worker-2 ready"])
        #expect(supervisor.status.values.allSatisfy { $0.pid != nil && $0.restarts == 0 })
        supervisor.stop()
        try await run
        #expect(events.seen.map(\.name).last == "coordinator")
        #expect(events.seen.count == 3)
        #expect(events.seen.allSatisfy { $0.isIntentional && $0.status == .exited(0) })
        var last: String?
        for _ in 0..<3 { last = await listener.next() }
        #expect(last == "coordinator bye")
        #expect(supervisor.status.values.allSatisfy { $0.pid == nil })
    }

    @Test func `the second stop kills`() async throws {
        let supervisor = supervisor([shell("worker", stubborn)], listener: listener, events: events)
        async let run: Void = supervisor.run()
        #expect(await events.ready(1, listener) == ["ready"])
        supervisor.stop()
        supervisor.stop()
        try await run
        #expect(events.seen.map(\.status) == [.signaled(SIGKILL)])
        #expect(events.seen.map(\.isIntentional) == [true])
    }

    @Test func `a child that outlives its grace is killed`() async throws {
        let supervisor = supervisor(
            [shell("worker", stubborn)], grace: .milliseconds(100), listener: listener, events: events)
        async let run: Void = supervisor.run()
        #expect(await events.ready(1, listener) == ["ready"])
        supervisor.stop()
        try await run
        #expect(events.seen.map(\.status) == [.signaled(SIGKILL)])
    }

    @Test func `a graceful shutdown of the service is a stop`() async throws {
        let supervisor = supervisor([shell("worker", polite("worker"))], listener: listener, events: events)
        let group = ServiceGroup(services: [supervisor], logger: silent)
        async let run: Void = group.run()
        #expect(await events.ready(1, listener) == ["worker ready"])
        await group.triggerGracefulShutdown()
        // The service returns, which a group takes as a failure unless it was asked to stop.
        try await run
        #expect(events.seen.map(\.status) == [.exited(0)])
    }

    @Test func `cancelling kills every child at once`() async throws {
        let supervisor = supervisor(
            [shell("worker-1", stubborn), shell("worker-2", stubborn)], listener: listener, events: events)
        let run = Task { try await supervisor.run() }
        #expect(await events.ready(2, listener) == ["ready"])
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(events.seen.map(\.status) == [.signaled(SIGKILL), .signaled(SIGKILL)])
    }

    @Test func `a stop before the start and one during a delay end at once`() async throws {
        let never = supervisor([shell("worker", "exit 1")], listener: listener, events: events)
        never.stop()
        try await never.run()
        #expect(events.seen.isEmpty)

        var policy = RestartPolicy()
        policy.firstDelay = .seconds(3600)
        policy.maxDelay = .seconds(3600)
        let waiting = supervisor([shell("worker", "exit 1")], policy: policy, listener: listener, events: events)
        async let run: Void = waiting.run()
        for await _ in events.ends { break }
        waiting.stop()
        try await run
        #expect(events.seen.map(\.status) == [.exited(1)])
    }

    @Test func `a child that hangs is killed and started again, any number of times`() async throws {
        let supervisor = supervisor([shell("worker", stubborn)], listener: listener, events: events)
        async let run: Void = supervisor.run()
        for round in 0..<7 {
            #expect(await events.ready(1, listener) == ["ready"])
            #expect(supervisor.status["worker"]?.restarts == round)
            supervisor.kill("worker")
        }
        #expect(await events.ready(1, listener) == ["ready"])
        supervisor.stop()
        supervisor.stop()
        try await run
        #expect(events.seen.count == 8)
        #expect(events.seen.allSatisfy { $0.isIntentional && $0.status == .signaled(SIGKILL) })
    }

    @Test func `a child killed from outside is started again`() async throws {
        let supervisor = supervisor([shell("worker", polite("worker"))], listener: listener, events: events)
        async let run: Void = supervisor.run()
        #expect(await events.ready(1, listener) == ["worker ready"])
        let pid = try #require(supervisor.status["worker"]?.pid)
        Glibc.kill(pid, SIGKILL)
        #expect(await events.ready(1, listener) == ["worker ready"])
        supervisor.stop()
        try await run
        #expect(events.seen.map(\.status) == [.signaled(SIGKILL), .exited(0)])
        #expect(events.seen.map(\.isIntentional) == [false, true])
    }

    @Test func `a terminal's Ctrl-C does not reach the children`() async throws {
        let supervisor = supervisor([shell("worker", polite("worker"))], listener: listener, events: events)
        async let run: Void = supervisor.run()
        #expect(await events.ready(1, listener) == ["worker ready"])
        let pid = try #require(supervisor.status["worker"]?.pid)
        #expect(getpgid(pid) == pid)
        #expect(getpgid(pid) != getpgrp())
        supervisor.stop()
        try await run
    }

    @Test func `a child gets its environment and no descriptor beyond the three`() async throws {
        let script = """
            for n in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
                if [ -e /proc/$$/fd/$n ]; then echo leaked $n >&2; fi
            done
            echo "$SLUICE_EXTRA of $HOME_KEPT" >&2
            read -r line
            """
        setenv("HOME_KEPT", "inherited", 1)
        let supervisor = supervisor(
            [shell("worker", script, environment: ["SLUICE_EXTRA": "added"])], listener: listener, events: events)
        async let run: Void = supervisor.run()
        #expect(await listener.next() == "added of inherited")
        supervisor.stop()
        try await run
    }

    @Test func `a missing executable is named in the error`() async throws {
        let supervisor = supervisor(
            [shell("worker", "")], policy: quick(), listener: listener, events: events,
            executable: "/nonexistent/sluice")
        let error = await #expect(throws: SupervisionError.self) { try await supervisor.run() }
        #expect(error?.description.contains("worker died 5 times") == true)
        #expect(error?.description.contains("not started") == true)
        #expect(events.seen.allSatisfy { $0.pid == 0 })
    }

    @Test func `children read the end of their input when the supervisor is killed`() async throws {
        var template = Array("/tmp/sluice-supervision-XXXXXX".utf8CString)
        let directory = String(cString: mkdtemp(&template))
        let fifo = "\(directory)/gone"
        #expect(mkfifo(fifo, 0o600) == 0)
        // Opened for both, so that neither side waits for the other.
        let reading = clinux_open(fifo, O_RDWR | O_CLOEXEC, 0)
        #expect(reading >= 0)
        await #expect(processExitsWith: .signal(SIGKILL)) { [fifo = fifo as String] in
            let listener = try Listener()
            let events = Events()
            let script = "echo ready >&2; read -r line; echo $1 gone > '\(fifo)'"
            let children = ["coordinator", "worker-1", "worker-2"].map {
                ChildSpecification(name: $0, arguments: ["-c", script, "sh", $0])
            }
            let supervisor = supervisor(children, listener: listener, events: events)
            async let run: Void = supervisor.run()
            _ = await events.ready(children.count, listener)
            Glibc.kill(getpid(), SIGKILL)
            try await run
        }
        var said: [UInt8] = []
        while said.count(where: { $0 == UInt8(ascii: "\n") }) < 3 {
            var byte: UInt8 = 0
            if read(reading, &byte, 1) == 1 { said.append(byte) }
        }
        let lines = String(decoding: said, as: UTF8.self).split(separator: "\n").sorted()
        #expect(lines == ["coordinator gone", "worker-1 gone", "worker-2 gone"])
        close(reading)
        unlink(fifo)
        rmdir(directory)
    }
}

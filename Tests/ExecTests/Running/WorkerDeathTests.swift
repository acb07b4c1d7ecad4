import Foundation
import Host
import TestSupport
import Testing

/// The death of a worker by SIGKILL: a stand-in process is killed, and nothing of its program may be left.
@Suite struct WorkerDeathTests {
    /// Programs with descendants of every kind; each prints `ready` when they run.
    static let programs = [
        "echo ready; exec sleep 1000",
        "sleep 1000 & sleep 1000 & sh -c 'sleep 1000 & wait' & echo ready; wait",
        "setsid sh -c 'sleep 1000 & sleep 1000' & setsid setsid sleep 1000 & echo ready; exec sleep 1000",
        "perl -e 'use POSIX; exit 0 if fork; setsid; exit 0 if fork; sleep 1000'; echo ready; sleep 1000",
        "sh -c 'kill -STOP $$' & echo ready; kill -STOP $$",
        "setsid sh -c 'trap \"\" TERM; kill -STOP $$' & echo ready; wait",
        "trap '' TERM; echo ready; while :; do sleep 1; done",
        "timeout 1000 sleep 1000 & echo ready; exec cat /dev/zero",
    ]

    private struct Death {
        /// From the kill until the lock was free; nil where the program did not run yet, so that no lock need be held.
        var time: Duration?
        var left: Int
    }

    /// Kills a worker when its program runs, or at a random time of its start.
    private func kill(_ random: inout SeededRandom, as user: UInt32?) async throws -> Death {
        try await withHarness { harness in
            // Another user makes the lock.
            chmod(harness.directory.path, 0o777)
            let text = Self.programs[random.number(in: 0..<Self.programs.count)]
            var command = [testWorker, "run", harness.lock, "20", "children", dash, "-c", text]
            if let user {
                command = ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"] + command
            }
            let worker = try ChildProcess(command, log: "\(harness.directory.path)/worker")
            let isRunning = random.chance(0.5)
            if isRunning {
                try await until("the program") { worker.output.contains("ready") }
            } else {
                try await Task.sleep(for: .microseconds(random.number(in: 0..<60_000)))
            }
            let killed = ContinuousClock.now
            worker.signal(SIGKILL)
            // Before its end a guardian may still take the lock for the first time.
            _ = await worker.end
            while LockProbe(path: harness.lock).isHeld, ContinuousClock.now - killed < .seconds(30) { usleep(200) }
            let time = ContinuousClock.now - killed
            // At once, because a free lock says that nothing is left; and later, because nothing may start any more.
            let mark = "SLUICE_TEST=\(harness.lock)"
            let left = processes(with: mark)
            try await Task.sleep(for: .milliseconds(20))
            let late = processes(with: mark)
            for pid in late { Glibc.kill(pid, SIGKILL) }
            return Death(time: isRunning ? time : nil, left: Set(left + late).count)
        }
    }

    private func report(_ deaths: [Death], _ name: String) {
        let times = deaths.compactMap(\.time).sorted()
        func quantile(_ share: Double) -> String {
            guard let time = times.dropFirst(Int(Double(times.count) * share)).first ?? times.last else { return "-" }
            return "\((time / .milliseconds(1) * 10).rounded() / 10) ms"
        }
        print(
            "\(name): \(deaths.count) workers killed, left \(deaths.map(\.left).reduce(0, +)); \(times.count) while "
                + "the program ran: lock free p50 \(quantile(0.5)), p99 \(quantile(0.99)), max \(quantile(1))")
    }

    @Test(.enabled(if: runsSlowTests)) func `200 workers that are killed leave no process and no lock`() async throws {
        var random = SeededRandom.announced("worker death")
        var deaths: [Death] = []
        for _ in 0..<200 { deaths.append(try await kill(&random, as: nil)) }
        report(deaths, "as this user")
        #expect(deaths.map(\.left).reduce(0, +) == 0)
        // 20 ms of them are the grace.
        #expect(deaths.compactMap(\.time).allSatisfy { $0 < .seconds(2) })
    }

    @Test(.enabled(if: runsSlowTests && isRoot))
    func `workers of another user that are killed leave no process and no lock`() async throws {
        var random = SeededRandom.announced("worker death of another user")
        var deaths: [Death] = []
        for _ in 0..<50 { deaths.append(try await kill(&random, as: 65_534)) }
        report(deaths, "as another user")
        #expect(deaths.map(\.left).reduce(0, +) == 0)
    }

    @Test func `a worker that is killed leaves its daemons by request, and no lock`() async throws {
        try await withHarness { harness in
            let text = "setsid sleep 1000 & sleep 1000 & echo ready; wait"
            let worker = try ChildProcess(
                [testWorker, "run", harness.lock, "1000", "leave", dash, "-c", text],
                log: "\(harness.directory.path)/worker")
            try await until("the program") { worker.output.contains("ready") }
            let mark = "SLUICE_TEST=\(harness.lock)"
            try await until("the session of the daemon") {
                processes(with: mark).contains { getsid($0) == $0 && isSleep($0) }
            }
            worker.signal(SIGKILL)
            try await until("the lock") { !LockProbe(path: harness.lock).isHeld }
            let left = processes(with: mark)
            #expect(left.count == 1 && left.allSatisfy(isSleep))
            for pid in left { Glibc.kill(pid, SIGKILL) }
            _ = await worker.end
        }
    }

    private func isSleep(_ pid: Int32) -> Bool { TextFile.read("/proc/\(pid)/comm") == "sleep\n" }
}

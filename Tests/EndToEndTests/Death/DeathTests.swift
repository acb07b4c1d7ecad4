import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Workers and coordinators that die, drain, hang and restart.
    @Suite(.enabled(if: runsSlowTests, "slow")) struct DeathTests {
        @Test func `the commands of a killed worker run again at once in another`() async throws {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                let victim = try await installation.worker("--concurrency", "8")
                let bulk = [String](repeating: #"{"payload":{"milliseconds":2000}}"#, count: 8).joined(separator: "\n")
                let ids = try await installation.sluice("submit", "noop", "--payload", "-", input: bulk).ids
                #expect(ids.count == 8)
                let store = try installation.store()
                try await until("eight executions") { try store.counts()[.sent] == 8 }
                _ = try await installation.worker("--concurrency", "8")
                let killed = Timestamp.now
                victim.signal(SIGKILL)

                var releases: [Duration] = []
                var waits: [Duration] = []
                for id in ids {
                    let command = try await installation.await(id, .success, in: store)
                    #expect(command.claim == 2)
                    #expect(command.retries == 0)
                    let timeline = try store.timeline(id)
                    let released = try #require(timeline.first { $0.status == .new && $0.claim == 1 })
                    releases.append(released.at - killed)
                    let again = try #require(timeline.last { $0.status == .sent })
                    waits.append(again.at - killed)
                }
                #expect(releases.allSatisfy { $0 < .seconds(1) }, "\(releases)")
                // All eight commands are suspects now, and a worker runs one suspect at a time.
                #expect(try #require(waits.min()) < .seconds(1), "\(waits)")
            }
        }

        /// Other instances: the commands of two dead workers, and suspects of several destinations, are those of
        /// `SlotSchedulerTests`; the end of a command that kills its worker late is one of `DeathConformance`.
        @Test func `the suspects of a dead worker run beside each other once the first has run for 10 s`() async throws
        {
            try await Installation.with { installation in
                let up = try await installation.up(workers: 2, "--concurrency", "8")
                let bulk = [String](repeating: #"{"payload":{"milliseconds":11000}}"#, count: 16).joined(
                    separator: "\n")
                let ids = try await installation.sluice("submit", "noop", "--payload", "-", input: bulk).ids
                let store = try installation.store()
                try await until("sixteen executions") { try store.counts()[.sent] == 16 }
                let victim = try #require(try await installation.workers().first)
                kill(victim, SIGKILL)
                // The commands of the other worker are the undisturbed run.
                var runs: [(isDisturbed: Bool, start: Timestamp, end: Timestamp)] = []
                for id in ids {
                    let command = try await installation.await(id, .success, in: store, within: .seconds(180))
                    let timeline = try store.timeline(id)
                    let start = try #require(timeline.last { $0.status == .sent }).at
                    runs.append((command.claim > 1, start, try #require(timeline.last).at))
                }
                let (again, others) = (runs.filter(\.isDisturbed), runs.filter { !$0.isDisturbed })
                #expect(again.count == 8 && others.count == 8)
                let atOnce = again.map { run in again.count { $0.start <= run.start && run.start < $0.end } }.max()
                #expect(atOnce == 7 || atOnce == 8, "\(atOnce ?? 0) of 8 at once")
                let undisturbed = others.map { $0.end - $0.start }.max() ?? .zero
                let disturbed = (again.map(\.end).max() ?? .zero) - (others.map(\.start).min() ?? .zero)
                // The first one, then the others, and the start of a worker between.
                #expect(disturbed < undisturbed * 3, "\(disturbed) beside \(undisturbed)")
                #expect(up.ending == nil)
            }
        }

        @Test func `a coordinator that replaces a killed one sees the same commands and workers`() async throws {
            try await Installation.with { installation in
                let first = try await installation.coordinator()
                let worker = try await installation.worker("--concurrency", "4")
                let bulk = [String](repeating: #"{"payload":{"milliseconds":100}}"#, count: 60).joined(separator: "\n")
                let ids = try await installation.sluice("submit", "noop", "--payload", "-", input: bulk).ids
                let store = try installation.store()
                try await until("some successes") { try store.counts()[.success] > 4 }
                first.signal(SIGKILL)
                _ = await first.end
                let late = try await installation.sluice("submit", "noop").ids
                _ = try await installation.coordinator()
                for id in ids + late {
                    let command = try await installation.await(id, .success, in: store)
                    // The worker survived, so no command was executed twice.
                    #expect(command.claim == 1)
                }
                #expect(worker.ending == nil)
            }
        }

        @Test func `a draining worker finishes middle QoS, releases low QoS, and exits with 0`()
            async throws
        {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                let worker = try await installation.worker("--grace", "20s")
                let (middle, low) = try await installation.submitLongNoops()
                let store = try installation.store()
                worker.signal(SIGTERM)
                #expect(try await worker.end(within: .seconds(30)) == .exited(0))
                #expect(try store.command(middle)?.status == .success)
                let released = try #require(try store.command(low))
                #expect(released.status == .new)
                #expect(released.retries == 0)
                #expect(try await installation.workers().isEmpty)
            }
        }

        @Test func `a worker releases every command when its grace ends`() async throws {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                let worker = try await installation.worker("--grace", "500ms")
                let id = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":60000}"#).ids[0]
                let store = try installation.store()
                try await installation.await(id, .sent, in: store)
                worker.signal(SIGTERM)
                #expect(try await worker.end(within: .seconds(20)) == .exited(0))
                #expect(try store.command(id)?.status == .new)
            }
        }

        @Test(arguments: [false, true])
        func `a worker that hangs is killed and its commands run in another, even if the coordinator dies meanwhile`(
            coordinatorDies: Bool
        ) async throws {
            try await Installation.with { installation in
                let coordinator = try await installation.coordinator()
                let victim = try await installation.worker("--concurrency", "2")
                let id = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":2000}"#).ids[0]
                let store = try installation.store()
                try await installation.await(id, .sent, in: store)
                victim.signal(SIGSTOP)
                if coordinatorDies {
                    coordinator.signal(SIGKILL)
                    _ = await coordinator.end
                    _ = try await installation.coordinator()
                }
                _ = try await installation.worker("--concurrency", "2")
                try await until("its second claim") { try store.command(id)?.claim == 2 }
                #expect(try store.command(id)?.suspect == false, "its worker was stopped by another process")
                let command = try await installation.await(id, .success, in: store)
                #expect(command.claim == 2)
                #expect(try await victim.end(within: .seconds(10)) == .signalled(SIGKILL))
            }
        }

        /// A paused container. The coordinator before it was killed, so that both ways of finding a silent worker are tried.
        @Test(.enabled(if: runsSlowTests, "slow"), arguments: [false, true])
        func `a worker whose control group is frozen is not killed, and finishes its commands when it is thawed`(
            coordinatorDies: Bool
        ) async throws {
            guard let group = ControlGroup.freezer() else { return }
            try await Installation.with { installation in
                var coordinator = try await installation.coordinator()
                let command = group.running(["\(Installation.bin)/sluice", "worker"])
                let worker = try installation.start(program: command[0], Array(command[1...]))
                try await installation.ready(worker)
                let id = try await installation.sluice(
                    "submit", "noop", "--payload", #"{"milliseconds":500}"#, "--idempotent", "no"
                ).ids[0]
                let store = try installation.store()
                try await installation.await(id, .sent, in: store)
                try group.setFrozen(true)
                if coordinatorDies {
                    coordinator.signal(SIGKILL)
                    _ = await coordinator.end
                    coordinator = try await installation.coordinator()
                }
                let state = try await installation.status()?["workers"]?.elements?.first?["state"]?.string
                #expect(state == "frozen")
                let explained = try await installation.sluice("explain", "\(id)")
                #expect(explained.output.contains("its control group is frozen"), "\(explained.output)")
                // After the 5 s with which a worker counts as hung.
                try await until("the look at the worker") { coordinator.errors.contains("control group is frozen") }
                try group.setFrozen(false)
                try await installation.await(id, .success, in: store)
                #expect(try store.command(id)?.claim == 1 && worker.ending == nil)
                #expect(try await installation.status()?["workers"]?.elements?.first?["state"]?.string == "ready")
                worker.signal(SIGTERM)
                #expect(try await worker.end(within: .seconds(20)) == .exited(0))
            }
            await group.remove()
        }

        @Test
        func `a command that is not idempotent is in doubt after the death of its worker, and resolve settles it`()
            async throws
        {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                let id = try await installation.sluice(
                    "submit", "noop", "--payload", #"{"milliseconds":60000}"#, "--idempotent", "no"
                ).ids[0]
                let store = try installation.store()
                var status = CommandStatus.new
                while status == .new {
                    let victim = try await installation.worker()
                    try await installation.await(id, .sent, in: store)
                    victim.signal(SIGKILL)
                    // It is new again where the worker has ended between the commit and the start of its operation.
                    status = try await installation.await(id, .inDoubt, .new, in: store).status
                }
                #expect(status == .inDoubt)
                #expect(try await installation.sluice("resolve", "\(id)", "--success").code == 0)
                #expect(try store.command(id)?.status == .success)
            }
        }

        @Test func `a command that kills its workers is given up after five, and its neighbours succeed`() async throws
        {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                let bulk = [String](repeating: #"{"payload":{"milliseconds":4000}}"#, count: 6).joined(separator: "\n")
                let neighbours = try await installation.sluice("submit", "noop", "--payload", "-", input: bulk).ids
                let poison = try await installation.sluice(
                    "submit", "noop", "--payload", #"{"milliseconds":60000}"#, "--qos", "userInitiated"
                ).ids[0]
                let store = try installation.store()
                for _ in 0..<12 where try store.command(poison)?.status != .tooManyTimes {
                    let worker = try await installation.worker("--concurrency", "8")
                    // The command waits 2 to 16 s between two deaths that it is charged with.
                    try await until("the poison at work", within: .seconds(40)) {
                        try [.sent, .tooManyTimes].contains(store.command(poison)?.status)
                    }
                    worker.signal(SIGKILL)
                    _ = await worker.end
                    try await until("the reaper") { try store.command(poison)?.status != .sent }
                }
                let command = try #require(try store.command(poison))
                #expect(command.status == .tooManyTimes)
                #expect(command.crashes == 5)
                _ = try await installation.worker("--concurrency", "8")
                for id in neighbours { try await installation.await(id, .success, in: store) }
            }
        }

        @Test func `commands submitted while no process runs are stored and run later`() async throws {
            try await Installation.with { installation in
                let id = try await installation.sluice("submit", "noop").ids[0]
                let store = try installation.store()
                #expect(try store.command(id)?.status == .new)
                let up = try await installation.up()
                try await installation.await(id, .success, in: store)
                up.signal(SIGTERM)
                #expect(try await up.end(within: .seconds(30)) == .exited(0))
            }
        }

        @Test func `up drains at the first Ctrl-C, also when the terminal signals its children too`() async throws {
            try await Installation.with { installation in
                let up = try await installation.up(workers: 2)
                let id = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":1000}"#).ids[0]
                let store = try installation.store()
                try await installation.await(id, .sent, in: store)
                kill(-up.pid, SIGINT)
                #expect(try await up.end(within: .seconds(30)) == .exited(0))
                #expect(try store.command(id)?.status == .success)
                #expect(try await installation.status()?["coordinator"] == .null)
            }
        }

        @Test func `up stops at the second Ctrl-C`() async throws {
            try await Installation.with { installation in
                let up = try await installation.up()
                let id = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":60000}"#).ids[0]
                try await installation.await(id, .sent, in: installation.store())
                let began = ContinuousClock.now
                up.signal(SIGINT)
                // Two pending signals of one kind are one. Send the second only after the first was handled.
                try await until("the drain") { up.errors.contains("draining: ") }
                let children = try installation.store().sessions().map(\.pid)
                up.signal(SIGINT)
                #expect(try await up.end(within: .seconds(20)) == .exited(0))
                #expect(ContinuousClock.now - began < .seconds(20))
                #expect(!children.isEmpty && children.allSatisfy { kill($0, 0) != 0 }, "\(children)")
                // The command is not at fault: it runs again, is not charged and is not a suspect.
                _ = try await installation.up()
                let store = try installation.store()
                try await until("its second claim") { try store.command(id)?.claim == 2 }
                let command = try #require(try store.command(id))
                #expect(command.crashes == 0 && !command.suspect, "\(command)")
                try await until("the end of the note") {
                    try FileManager.default.contentsOfDirectory(atPath: "\(installation.data)/run").allSatisfy {
                        !$0.hasPrefix("ordered-")
                    }
                }
            }
        }

        @Test func `up kills a coordinator that hangs, and the next one takes over the running commands`() async throws
        {
            try await Installation.with { installation in
                let up = try await installation.up()
                let store = try installation.store()
                let id = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":12000}"#).ids[0]
                try await installation.await(id, .sent, in: store)
                let hanging = try #require(
                    try await installation.status()?["coordinator"]?["pid"]?.integer.map { Int32($0) })
                // A coordinator without a first heartbeat may be replaying a long WAL, and has a minute.
                try await until("the greeting of up") { up.errors.contains("sluice runs in") }
                kill(hanging, SIGSTOP)
                try await until("another coordinator") {
                    let pid = try await installation.status()?["coordinator"]?["pid"]?.integer
                    return pid != nil && pid != Int64(hanging)
                }
                #expect(up.errors.contains("silent for too long"))
                let command = try await installation.await(id, .success, in: store)
                #expect(command.claim == 1)
                let next = try await installation.sluice("submit", "noop").ids[0]
                try await installation.await(next, .success, in: store)
            }
        }

        @Test func `up restarts a killed child, and a worker added beside it takes work within a second`() async throws
        {
            try await Installation.with { installation in
                _ = try await installation.up(workers: 1, "--concurrency", "1")
                let first = try #require(try await installation.workers().first)
                kill(first, SIGKILL)
                try await until("another worker") {
                    let workers = try await installation.workers()
                    return workers.count == 1 && workers[0] != first
                }
                let bulk = [String](repeating: #"{"payload":{"milliseconds":200}}"#, count: 100).joined(separator: "\n")
                _ = try await installation.sluice("submit", "noop", "--payload", "-", input: bulk)
                let store = try installation.store()
                try await until("work") { try store.counts()[.success] > 0 }
                let began = Timestamp.now
                let added = try installation.start("worker")
                let ready = try await awaited("the worker") { installation.logged("Worker ready.", by: added) }
                let seat = try #require(try store.sessions().first { $0.pid == added.pid }).seat
                let claimed: Timestamp = try await awaited("its first claim") {
                    var claims: [Timestamp] = []
                    for shard in 0..<store.shardCount {
                        for transition in try store.events(shard: shard, after: 0, limit: 1000).events.map(\.transition)
                        // The seat may have belonged to another worker before.
                        where transition.status == .queued && transition.seat == seat && transition.at >= began {
                            claims.append(transition.at)
                        }
                    }
                    return claims.min()
                }
                #expect(claimed - ready < .seconds(1), "ready at \(ready), first claim at \(claimed)")
                try await installation.drained(store)
            }
        }
    }
}

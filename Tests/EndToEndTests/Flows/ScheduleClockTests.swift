import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// A wall clock that is set while processes run.
    struct ScheduleClockTests {
        @Test(
            .enabled(if: SteppedClock.isAvailable, "libfaketime is not installed"),
            .filesOnly("the clock of a store on a server is that of the server"))
        func `a clock that jumps by eight days and back deletes, cancels and frees nothing`() async throws {
            try await Installation.with { installation in
                let clock = try await SteppedClock(in: installation)
                let coordinator = try await installation.coordinator(environment: clock.environment)
                _ = try await installation.worker(environment: clock.environment)
                let store = try installation.store()
                func submit(_ arguments: String...) async throws -> CommandID {
                    let done = try await installation.run(
                        program: "\(Installation.bin)/sluice", ["submit", "noop"] + arguments)
                    return try #require(done.ids.first, "\(done.errors)")
                }
                let done = try await submit("--unique-key", "report", "--unique-for", "1h")
                try await installation.await(done, .success, in: store)
                let waiting = try await submit("--not-before", "3d", "--deadline", "5d")
                let due = try await submit("--not-before", "2d")

                try await clock.set(.seconds(8 * 86_400), seenBy: coordinator)
                // Due times and deadlines are written together.
                try await installation.await(due, .success, in: store)
                #expect(try store.command(waiting)?.status != .cancelled)
                #expect(try await submit("--unique-key", "report", "--unique-for", "1h") == done)
                let pruned = try await installation.sluice("prune")
                #expect(pruned.code == 75 && pruned.errors.contains("jumped forward by 8d"), "\(pruned.errors)")
                #expect(try await installation.sluice("doctor").output.contains("jumped forward by 8d"))
                #expect(try await installation.sluice("status").output.contains("jumped forward by 8d"))

                try await clock.set(.zero, seenBy: coordinator)
                let late = try await submit("--not-before", "1s")
                try await installation.await(late, .success, in: store)
                #expect(try store.command(done)?.status == .success)
                #expect(try await installation.sluice("status", "--json").json()["clockHold"]?["reason"]?.string != nil)
            }
        }

        /// As after a failure while the clock was ten years ahead, and a reboot with the right one.
        @Test func `a start before the newest change holds ages and shortens waits`() async throws {
            try await Installation.with { installation in
                let id = try await installation.sluice("submit", "noop").ids[0]
                let store = try installation.store()
                let ahead = Timestamp.now + .seconds(10 * 365 * 86_400)
                try store.open(Session(seat: 9, epoch: 1, pid: 1, startTime: 2, bootID: "another"))
                let failure = CommandFailure(.command, reason: "500")
                _ = try store.apply(
                    [.claim(id, sent: true), .end(id, claim: 1, .failure(failure))],
                    shard: id.shard(of: store.shardCount), seat: 9, epoch: 1, now: ahead, timeout: .seconds(1))
                #expect(try #require(try store.command(id)).notBefore > ahead)
                let coordinator = try await installation.coordinator()
                try await until("the shorter wait") {
                    try #require(try store.command(id)).notBefore < .now + .seconds(3660)
                }
                try await until("the hold") {
                    try await installation.sluice("status").output.contains("before the newest change in the store")
                }
                #expect(coordinator.errors.contains("nothing is deleted or cancelled by its age"))
            }
        }

        @Test(.enabled(if: SteppedClock.isAvailable, "libfaketime is not installed"))
        func `commands run in the order of their submission, though the clock jumps while they wait`() async throws {
            try await Installation.with { installation in
                let clock = try await SteppedClock(in: installation)
                var coordinator = try await installation.coordinator(environment: clock.environment)
                // The others wait behind it.
                _ = try await installation.worker("--concurrency", "1")
                let store = try installation.store()
                let first = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":600000}"#)
                    .ids[0]
                try await installation.await(first, .sent, in: store)
                var ids: [CommandID] = []
                // Each in a shard of its own choice.
                func submit(_ count: Int) async throws {
                    for _ in 0..<count {
                        let done = try await installation.sluice(
                            "submit", "noop", "--payload", #"{"milliseconds":50}"#, environment: clock.environment)
                        ids.append(try #require(done.ids.first, "\(done.errors)"))
                    }
                }
                // The clock of a server does not jump, so that its coordinator reports nothing.
                func set(_ offset: Duration) async throws {
                    guard installation.serverStore == nil else { return try clock.set(offset) }
                    try await clock.set(offset, seenBy: coordinator)
                }
                try await submit(4)
                try await set(.seconds(8 * 86_400))
                try await submit(4)
                try await set(.zero)
                try await submit(4)
                // The next coordinator reads all of them from the store, and sees the last jump itself.
                coordinator.signal(SIGTERM)
                #expect(try await coordinator.end(within: .seconds(30)) == .exited(0))
                try clock.set(.seconds(-7200))
                coordinator = try await installation.coordinator(environment: clock.environment)
                if installation.serverStore == nil {
                    try await until("the report of the jump") { SteppedClock.reports(of: coordinator) > 0 }
                }
                try await submit(4)
                try await until("the worker") { try await installation.workers().count == 1 }
                #expect(try await installation.sluice("cancel", "\(first)").code == 0)
                var starts: [Timestamp] = []
                for id in ids {
                    try await installation.await(id, .success, in: store)
                    starts.append(try #require(store.timeline(id).first { $0.status == .sent }).at)
                }
                // The worker gets one ahead, which is of the shard that was read first.
                let ahead = try #require(starts.indices.min { starts[$0] < starts[$1] })
                starts.remove(at: ahead)
                #expect(starts == starts.sorted(), "\(starts)")
            }
        }

        @Test(
            .enabled(if: SteppedClock.isAvailable, "libfaketime is not installed"),
            .filesOnly("a schedule fires by the clock of the server"))
        func `a clock that is set forward and back fires every time once`() async throws {
            try await Installation.with { installation in
                let put = try await installation.sluice(
                    "schedule", "put", "beat", "* * * * * *", "noop", "--overlap", "allow", "--missed", "all:50")
                #expect(put.code == 0, "\(put.errors)")
                let store = try installation.store()
                func state() throws -> ScheduleState { try #require(try store.schedule("beat")).state }
                let clock = try await SteppedClock(in: installation)
                let coordinator = try await installation.coordinator(environment: clock.environment)
                try await until("the first times") { try state().fired >= 2 }
                // The newest 50 of the times that were passed by, and all of the last minute, fire.
                try clock.set(.seconds(600))
                try await until("the times of the step") { try state().fired > 100 }
                let ahead = try state()
                try await clock.set(.zero, seenBy: coordinator)
                // A schedule of each second continues at the time that the clock shows now.
                try await until("the time before the step") { try state().since < ahead.since + .seconds(-300) }
                let back = try state()
                try await until("the times after the step back") { try state().fired >= back.fired + 2 }
                let before = try state()
                try clock.set(.seconds(1200))
                try await until("the times of the next step") { try state().fired > before.fired + 100 }
                coordinator.signal(SIGTERM)
                #expect(try await coordinator.end(within: .seconds(30)) == .exited(0))

                let after = try state()
                let times = try await installation.sluice("list", "--limit", "0", "--json").lines.map { line in
                    let key = try JSONValue(parsing: Array(line.utf8))["uniqueKey"]?.string ?? ""
                    return try #require(Timestamp(rfc3339: String(key.drop { $0 != "@" }.dropFirst()))).milliseconds
                        / 1000
                }
                #expect(Set(times).count == times.count && Int64(times.count) == after.fired)
                let first = try #require(times.min())
                // The times between the steps were decided twice.
                #expect(after.since.milliseconds / 1000 - first + 1 <= after.fired + after.skipped)
            }
        }
    }
}

import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// A shard that a process keeps locked, for example one that is stopped within a commit.
    @Suite(.enabled(if: runsSlowTests, "slow"), .filesOnly("on a server a commit locks the shards of its whole batch"))
    struct LockedShardTests {
        private static func count(_ ids: [CommandID], in shard: Int) -> (there: Int, elsewhere: Int) {
            let there = ids.count { $0.shard(of: 8) == shard }
            return (there, ids.count - there)
        }

        @Test func `a locked shard delays no command of the others`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let up = try await installation.up(workers: 1)
                let store = try installation.store()
                #expect(try await installation.sluice("pause", "--qos", "default").code == 0)
                let bulk = String(repeating: #"{"payload":{"milliseconds":5}}"# + "\n", count: 4000)
                let submitted = try await installation.sluice("submit", "noop", "--payload", "-", input: bulk)
                let count = Self.count(submitted.ids, in: 3)
                #expect(count.there > 300 && count.there + count.elsewhere == 4000)

                let probe = try SQLiteProbe("\(installation.data)/shard-03.sqlite")
                try probe.run("BEGIN IMMEDIATE")
                #expect(try await installation.sluice("resume", "--qos", "default").code == 0)
                // A worker that starts now works too.
                let second = try await installation.worker()
                try await until("the end of the others", within: .seconds(20)) {
                    try store.counts()[.success] == count.elsewhere
                }
                #expect(second.ending == nil)
                // New commands avoid the shard too, and status answers.
                let next = try await installation.sluice("submit", "noop", "--wait", within: .seconds(10))
                #expect(next.code == 0, "\(next.errors)")
                let waiting = try #require(submitted.ids.first { $0.shard(of: 8) == 3 })
                let explained = try await installation.sluice("explain", "\(waiting)", within: .seconds(10))
                #expect(explained.code == 0 && explained.output.hasPrefix("shard:"), "\(explained.output)")
                #expect(explained.output.contains("is locked by process \(getpid()) ("), "\(explained.output)")

                try probe.run("ROLLBACK")
                try await installation.drained(store, within: .seconds(30))
                #expect(try store.counts()[.success] == 4001)
                // Each process logs once that the shard is locked, with the process that holds the lock.
                let said = (up.errors + second.errors).split(separator: "\n").filter { $0.contains("is locked by") }
                #expect((1...5).contains(said.count), "\(said.joined(separator: "\n"))")
                #expect(said.allSatisfy { $0.contains("process \(getpid()) (") })
            }
        }

        /// The committers of a worker look at a locked shard each 100 ms. A wait that rests on the wall clock would last a day
        /// here, as after a clock that is set back by a day during the wait. Others looked for: every semaphore with a
        /// timeout (turns of writers, slots of commits, the grace of a drain, threads of file systems).
        @Test(.enabled(if: SteppedClock.isAvailable, "libfaketime is not installed"))
        func `a locked shard goes on when it is free, whatever the wall clock shows`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let clock = try await SteppedClock(in: installation)
                try clock.set(.seconds(86_400))
                _ = try await installation.coordinator(environment: clock.environment)
                let worker = try await installation.worker(environment: clock.environment)
                let store = try installation.store()
                let probe = try SQLiteProbe("\(installation.data)/shard-03.sqlite")
                let bulk = String(repeating: #"{"payload":{"milliseconds":1}}"# + "\n", count: 400)
                let submitted = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["submit", "noop", "--payload", "-"],
                    environment: clock.environment, input: Array(bulk.utf8))
                #expect(submitted.ids.count == 400, "\(submitted.errors)")
                try probe.run("BEGIN IMMEDIATE")
                try await until("the report of the lock") { worker.errors.contains("is locked by process") }
                try probe.run("ROLLBACK")
                try await installation.drained(store)
                worker.signal(SIGTERM)
                #expect(try await worker.end(within: .seconds(60)) == .exited(0))
            }
        }

        @Test func `uploads of the other shards use the slots of a destination`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let receiver = try await installation.receiver()
                let files = try (0..<200).map { try installation.directory.file("\($0)", [1]) }
                let put = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["put"] + files + ["--to", "\(receiver.origin)/in/"])
                let count = Self.count(put.ids, in: 5)
                // More than the worker has slots.
                #expect(count.there > 4 && put.ids.count == 200, "\(put.errors)")
                let probe = try SQLiteProbe("\(installation.data)/shard-05.sqlite")
                try probe.run("BEGIN IMMEDIATE")
                _ = try await installation.up(workers: 1, "--concurrency", "2")
                let store = try installation.store()
                try await until("the end of the others", within: .seconds(20)) {
                    try store.counts()[.success] == count.elsewhere
                }
                try probe.run("ROLLBACK")
                try await installation.drained(store, within: .seconds(30))
                #expect(try store.counts()[.success] == 200)
            }
        }
    }
}

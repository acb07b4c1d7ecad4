import Commands
import Foundation
import Host
import TestSupport
import Testing
import Wire
import ZeroMQ

@testable import Store

extension EndToEndTests {
    /// Processes of two releases in one data directory. The other release is played by the test;
    /// `deploy/test-upgrade` runs the real one.
    @Suite(.filesOnly("the earlier release has no other store")) struct UpgradeTests {
        /// Takes what later releases added from the tables, as release 0.1.0 would have made them.
        private static func makeFirstRelease(_ installation: Installation) throws {
            let first = try SQLiteProbe(installation.directory.file("first.sqlite", []))
            try first.run(Schema.base)
            let columns = "SELECT name FROM pragma_table_info('command')"
            let data = DataDirectory(path: installation.data)
            for shard in try data.shards() {
                let probe = try SQLiteProbe(data.shard(shard))
                for kind in ["index", "table"] {
                    let names = "SELECT name FROM sqlite_schema WHERE type = '\(kind)' AND name NOT LIKE 'sqlite%'"
                    for name in Set(try probe.texts(names)).subtracting(try first.texts(names)) {
                        try probe.run("DROP \(kind) \(name)")
                    }
                }
                for name in Set(try probe.texts(columns)).subtracting(try first.texts(columns)) {
                    try probe.run("ALTER TABLE command DROP COLUMN \(name)")
                }
                try probe.run("DELETE FROM meta WHERE key IN ('version', 'id')")
            }
        }

        private static func versions(_ installation: Installation) throws -> Set<String> {
            let data = DataDirectory(path: installation.data)
            return Set(
                try data.shards().flatMap { shard in
                    try SQLiteProbe(data.shard(shard)).texts(
                        "SELECT ifnull(max(value), 2) FROM meta WHERE key = 'version'")
                })
        }

        @Test func `a coordinator migrates a store of release 0.1.0, and no other program does`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let before = try await installation.sluice("submit", "noop").ids
                try Self.makeFirstRelease(installation)
                let worker = try installation.start("worker")
                let ids = try await installation.sluice("submit", "noop", "--unique-key", "a").ids
                #expect(try await installation.sluice("submit", "noop", "--unique-key", "a").ids == ids)
                #expect(try await installation.sluice("list", "--json").lines.count == 2)
                #expect(try Self.versions(installation) == ["2"])
                _ = try await installation.coordinator()
                let store = try installation.store()
                for id in before + ids { try await installation.await(id, .success, in: store) }
                try await until("the migration", within: .seconds(20)) { try Self.versions(installation) == ["3"] }
                let later = try await installation.sluice("submit", "noop", "--unique-for", "1h", "--unique-key", "b")
                    .ids
                try await installation.await(try #require(later.first), .success, in: store)
                #expect(worker.ending == nil)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a worker whose frames cannot be read is left alone, and its commands are released uncharged`()
            async throws
        {
            try await Installation.with(inProcess: false) { installation in
                let id = try #require(try await installation.sluice("submit", "noop").ids.first)
                let store = try installation.store()
                let run = DataDirectory(path: installation.data).run
                // A worker of a later release: a process, a seat, a session, a claimed command.
                let process = try installation.start(program: "/bin/sleep", ["60"])
                var lock = try run.take(.seat(5))
                #expect(lock != nil)
                let identity = try #require(ProcessIdentity.startTime(of: process.pid))
                try store.open(
                    Session(
                        seat: 5, epoch: 77, pid: process.pid, startTime: identity, bootID: ProcessIdentity.bootID))
                _ = try store.apply(
                    [.claim(id, sent: true)], shard: id.shard(of: store.shardCount), seat: 5, epoch: 77)
                let coordinator = try await installation.coordinator()
                let sender = try await ForeignSender.started(in: run.path)
                let began = ContinuousClock.now
                try await until("eight seconds of frames that cannot be read", within: .seconds(20)) {
                    try await sender.send()
                    return ContinuousClock.now - began > .seconds(8)
                }
                #expect(process.ending == nil, "it hangs for the coordinator, and is not killed")
                #expect(try store.command(id)?.status == .sent)
                #expect(coordinator.errors.components(separatedBy: "another version of the protocol").count == 2)
                process.signal(SIGKILL)
                _ = await process.end
                lock = nil
                try await until("the release", within: .seconds(20)) { try store.command(id)?.status != .sent }
                let command = try #require(try store.command(id))
                #expect(command.status == .new && command.retries == 0 && command.crashes == 0 && !command.suspect)
                await sender.close()
            }
        }

        @Test func `SIGHUP drains the children of up in turn, and starts the installed program`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let program = "\(installation.directory.path)/sluice"
                try FileManager.default.copyItem(atPath: "\(Installation.bin)/sluice", toPath: program)
                let up = try installation.start(program: program, ["up", "--workers", "2"])
                try await until("two workers") { try await installation.workers().count == 2 }
                let before = try await installation.workers()
                let id = try #require(
                    try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":1500}"#).ids.first)
                let store = try installation.store()
                try await installation.await(id, .sent, in: store)
                // As install(1) does: another file at the same path.
                try FileManager.default.copyItem(atPath: program, toPath: program + ".new")
                #expect(rename(program + ".new", program) == 0)
                up.signal(SIGHUP)
                try await until("new workers", within: .seconds(30)) {
                    let now = try await installation.workers()
                    return now.count == 2 && Set(now).isDisjoint(with: before)
                }
                let command = try await installation.await(id, .success, in: store)
                #expect(command.claim == 1, "its worker ran it to the end")
                #expect(up.ending == nil)
                let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(up.pid)/exe")
                #expect(executable == program, "the replaced file would be “(deleted)”")
                // It still ends as it should.
                up.signal(SIGTERM)
                #expect(try await up.end(within: .seconds(30)) == .exited(0))
            }
        }

        @Test func `up stays as it is when the installed program does not run`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let program = "\(installation.directory.path)/sluice"
                try FileManager.default.copyItem(atPath: "\(Installation.bin)/sluice", toPath: program)
                let up = try installation.start(program: program, ["up", "--workers", "1"])
                try await until("a worker") { try await installation.workers().count == 1 }
                let before = try await installation.workers()
                try FileManager.default.removeItem(atPath: program)
                try Data("#!/bin/sh\necho broken >&2; exit 3\n".utf8).write(to: URL(fileURLWithPath: program))
                #expect(chmod(program, 0o755) == 0)
                up.signal(SIGHUP)
                try await until("its refusal") {
                    up.errors.contains("Not reloaded, because") && up.errors.contains("broken")
                }
                #expect(try await installation.workers() == before)
                let id = try #require(try await installation.sluice("submit", "noop").ids.first)
                try await installation.await(id, .success, in: try installation.store())
            }
        }
    }
}

/// Sends frames of a version that no release has yet.
private actor ForeignSender {
    private let loop: PollLoop
    private let context: Context
    private let reports: Socket
    private var sequence: Int64 = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init(loop: PollLoop, run: String) throws {
        self.loop = loop
        context = try Context()
        reports = try Socket(.publish, context: context, loop: loop)
        try reports.connect(.ipc(path: "\(run)/reports.sock"))
    }

    static func started(in run: String) async throws -> ForeignSender {
        let loop = try PollLoop(name: "foreign")
        return try await loop.run { Result { try ForeignSender(loop: loop, run: run) } }.get()
    }

    func send() throws {
        sequence += 1
        var frame = Message.state(WorkerState()).encoded(FrameHead(seat: 5, epoch: 77, sequence: sequence))
        frame[0] = 9
        _ = try reports.send(frame)
    }

    nonisolated func close() async {
        loop.stop()
        await loop.stopped()
    }
}

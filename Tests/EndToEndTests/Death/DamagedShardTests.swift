import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// A damaged shard affects only its own commands, even shard 0, which holds the settings.
    @Suite(.enabled(if: runsSlowTests, "slow"), .filesOnly("a server keeps all shards in its own files"))
    struct DamagedShardTests {
        @Test(arguments: [0, 3])
        func `one corrupted shard is named, and the others keep working`(_ number: Int) async throws {
            try await Installation.with(inProcess: false) { installation in
                let (name, _) = try await damage(number, of: installation)
                let up = try installation.start("up", "--workers", "1")
                var ids: [CommandID] = []
                for round in 0..<40 {
                    // The next coordinator finds the damage too.
                    if round == 20 { try await killCoordinator(of: installation) }
                    let submitted = try await installation.sluice("submit", "noop", "--wait", within: .seconds(30))
                    #expect(submitted.code == 0, "\(submitted.ending): \(submitted.errors)")
                    ids += submitted.ids
                }
                // Commands without a key go to the sound shards.
                #expect(ids.count == 40 && ids.allSatisfy { $0.shard(of: 8) != number })
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.code == 70)
                #expect((doctor.output + doctor.errors).contains(name))
                // Each of the two coordinators logs the damage once, and its maintenance once when it prunes.
                let said = up.errors.split(separator: "\n").count { $0.contains(name) }
                #expect((2...6).contains(said), "\(up.errors)")
            }
        }

        @Test(arguments: [0, 3])
        func `with one corrupted shard status, watch, explain and prune show the others and name it`(_ number: Int)
            async throws
        {
            try await Installation.with(inProcess: false) { installation in
                let (name, _) = try await damage(number, of: installation)
                _ = try installation.start("up", "--workers", "1", "--concurrency", "1")
                func submit(_ count: Int, _ payload: String = "{}") async throws -> [CommandID] {
                    let lines = String(repeating: "{\"payload\":\(payload)}\n", count: count)
                    let submitted = try await installation.sluice("submit", "noop", "--payload", "-", input: lines)
                    #expect(submitted.code == 0 && submitted.ids.count == count, "\(submitted.errors)")
                    return submitted.ids
                }
                let store = try installation.store()
                let done = try await submit(40)
                try await installation.drained(store)

                let watch = try installation.start("watch", "--json")
                try await until("the first event") { !watch.output.isEmpty }
                let running = try await submit(1, #"{"milliseconds":60000}"#)[0]
                try await installation.await(running, .sent, in: store)
                try await until("the event of the start") {
                    watch.output.split(separator: "\n").contains { $0.contains("\(running)") && $0.contains("\"sent") }
                }

                // The only slot is taken, so most of these commands wait.
                let queue = try await submit(8)
                let status = try await installation.sluice("status")
                #expect(status.code == 0 && status.output.contains("success"), "\(status.errors)")
                #expect(status.errors.contains(name))
                let json = try await installation.sluice("status", "--json")
                #expect(json.code == 0 && json.errors.contains(name), "\(json.errors)")
                let problems = try json.json()["problems"]?.elements?.compactMap(\.string) ?? []
                #expect(problems.count == 1 && problems[0].contains(name))
                #expect(try json.json()["counts"]?["success"]?.integer ?? 0 >= 40)
                #expect(try json.json()["workers"]?.elements?.first?["inFlight"]?.integer ?? 0 >= 1)

                let last = try queue.last { try store.command($0)?.status == .new }
                let waiting = try #require(last)
                for (id, gate) in [(waiting, "places"), (running, "running"), (done[0], "ended")] {
                    let explained = try await installation.sluice("explain", "\(id)")
                    #expect(explained.code == 0 && explained.output.hasPrefix("\(gate):"), "\(explained.output)")
                }
                #expect(try await installation.sluice("cancel", "\(running)").code == 0)

                let prune = try await installation.sluice("prune", "--older-than", "1ms", "--json")
                #expect(prune.code == 70 && prune.errors.contains(name), "\(prune.errors)")
                #expect(try prune.json()["pruned"]?.integer ?? 0 >= 40)
                let copy = "\(installation.directory.path)/copy"
                let backup = try await installation.sluice("backup", copy)
                #expect(backup.code == 70 && backup.errors.contains(name), "\(backup.errors)")
                #expect(backup.output.contains("7 shards copied"), "\(backup.output)")
                #expect(!FileManager.default.fileExists(atPath: "\(copy)/\(name)"))
                // A setting that cannot be stored is refused.
                let pause = try await installation.sluice("pause", "--destination", "http://a")
                #expect(pause.code == (number == 0 ? 70 : 0), "\(pause.errors)")
                #expect(pause.errors.contains(name) == (number == 0))
            }
        }

        @Test func `a shard that is repaired while processes run is used again without a restart`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let lines = String(repeating: "{\"payload\":{}}\n", count: 80)
                let submitted = try await installation.sluice("submit", "noop", "--payload", "-", input: lines)
                let ids = submitted.ids
                let there = ids.filter { $0.shard(of: 8) == 3 }
                #expect(ids.count == 80 && !there.isEmpty)
                let (name, head) = try await damage(3, of: installation)
                _ = try installation.start("up", "--workers", "2")
                let store = try installation.store()
                for id in ids where id.shard(of: 8) != 3 { try await installation.await(id, .success, in: store) }
                let file = try #require(FileHandle(forUpdatingAtPath: "\(installation.data)/\(name)"))
                try file.write(contentsOf: head)
                try file.close()
                for id in there { try await installation.await(id, .success, in: store) }
            }
        }

        /// Makes a store, and overwrites the head of the file of one shard.
        /// - Returns: the name of the file and its original head.
        private func damage(
            _ number: Int, of installation: Installation
        ) async throws -> (name: String, head: Data) {
            #expect(try await installation.sluice("submit", "noop").code == 0)
            let name = "shard-0\(number).sqlite"
            let path = "\(installation.data)/\(name)"
            let store = try installation.files()
            for number in 0..<store.shardCount { _ = try store.checkpoint(shard: number) }
            _ = consume store
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            let file = try #require(FileHandle(forUpdatingAtPath: path))
            let head = try #require(try file.read(upToCount: 16_384))
            try file.seek(toOffset: 0)
            try file.write(contentsOf: Data(repeating: 0xA5, count: head.count))
            try file.close()
            return (name, head)
        }

        private func killCoordinator(of installation: Installation) async throws {
            let pid = try #require(try await installation.status()?["coordinator"]?["pid"]?.integer)
            #expect(kill(Int32(pid), SIGKILL) == 0)
        }
    }
}

import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice restore` and backups, with real processes.
    @Suite(
        .enabled(if: runsSlowTests, "slow"), .filesOnly("a store on a server is backed up and restored with its server")
    )
    struct RestoreTests {
        private static let bulk = [String](repeating: #"{"payload":{}}"#, count: 80).joined(separator: "\n")

        @Test func `a store is restored from its backup, and runs what the backup has`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let copy = "\(installation.directory.path)/copy"
                let kept = try await installation.sluice("submit", "noop", "--payload", "-", input: Self.bulk).ids
                #expect(try await installation.sluice("backup", copy).code == 0)
                let later = try await installation.sluice("submit", "noop", "--payload", "-", input: Self.bulk).ids
                do {
                    let up = try await installation.up(workers: 1)
                    // A restore beside running processes names one of them and changes nothing.
                    let refused = try await installation.sluice("restore", copy)
                    #expect(refused.code == 75 && refused.errors.contains("stop it"), "\(refused.errors)")
                    let store = try installation.files()
                    try await installation.drained(store)
                    up.signal(SIGTERM)
                    #expect(try await up.end(within: .seconds(60)) == .exited(0))
                }
                let restored = try await installation.sluice("restore", copy)
                #expect(restored.code == 0, "\(restored.errors)")
                #expect(restored.output.hasPrefix("8 shards restored from a backup of "), "\(restored.output)")
                #expect(try await installation.sluice("doctor", "--json").code != 70)
                _ = try await installation.up(workers: 1)
                let store = try installation.files()
                try await installation.drained(store)
                for id in kept { #expect(try store.command(id)?.status == .success) }
                for id in later { #expect(try store.command(id) == nil) }
            }
        }

        @Test func `one shard is restored as the message of its damage advises`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let copy = "\(installation.directory.path)/copy"
                _ = try await installation.sluice("submit", "noop", "--payload", "-", input: Self.bulk)
                #expect(try await installation.sluice("backup", copy).code == 0)
                let path = "\(installation.data)/shard-03.sqlite"
                for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
                let status = try await installation.sluice("status")
                #expect(status.errors.contains("run “sluice restore DIR --shard 3”"), "\(status.errors)")
                let restored = try await installation.sluice("restore", copy, "--shard", "3", "--json")
                #expect(restored.code == 0, "\(restored.errors)")
                #expect(try restored.json()["shards"]?.elements?.compactMap(\.integer) == [3])
                let after = try await installation.sluice("status", "--json")
                #expect(after.code == 0 && after.errors.isEmpty, "\(after.errors)")
                #expect(try after.json()["counts"]?["new"]?.integer == 80)
            }
        }

        @Test(arguments: ["up", "coordinator", "worker", "submit", "put", "cancel", "pause"])
        func `a backup is not run, and refuses every change`(_ command: String) async throws {
            try await Installation.with(inProcess: false) { installation in
                let copy = "\(installation.directory.path)/copy"
                let id = try #require(try await installation.sluice("submit", "noop").ids.first)
                #expect(try await installation.sluice("backup", copy).code == 0)
                let file = try installation.directory.file("a", [1])
                let arguments: [String] =
                    switch command {
                    case "submit": ["submit", "noop"]
                    case "put": ["put", "--spool", file, "--to", "http://127.0.0.1:9/"]
                    case "cancel": ["cancel", "\(id)"]
                    default: [command]
                    }
                let refused = try await installation.run(
                    program: "\(Installation.bin)/sluice", arguments + ["--data", copy], within: .seconds(30))
                #expect(refused.code == 65, "\(refused.ending): \(refused.errors)")
                #expect(refused.errors.contains("“sluice restore \(copy)”"), "\(refused.errors)")

                // It can be looked at, which says what it is.
                for (reading, code) in [(["status"], Int32(0)), (["list"], 0), (["doctor"], 0)] {
                    let shown = try await installation.run(
                        program: "\(Installation.bin)/sluice", reading + ["--data", copy])
                    #expect(shown.code == code || reading == ["doctor"], "\(shown.errors)")
                    #expect((shown.output + shown.errors).contains("is a backup of"), "\(shown.output)\(shown.errors)")
                }
                #expect(!FileManager.default.fileExists(atPath: "\(copy)/shard-00.sqlite-wal"))
            }
        }

        @Test func `a shard that a person replaces stops its writers, not those of the others`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let copy = "\(installation.directory.path)/copy"
                _ = try await installation.sluice("submit", "noop", "--payload", "-", input: Self.bulk)
                let up = try await installation.up(workers: 1)
                let store = try installation.files()
                try await installation.drained(store)
                #expect(try await installation.sluice("backup", copy).code == 0)
                unlink("\(installation.data)/shard-05.sqlite")
                try FileManager.default.copyItem(
                    atPath: "\(copy)/shard-05.sqlite", toPath: "\(installation.data)/shard-05.sqlite")
                try await until("the sentence", within: .seconds(30)) {
                    up.errors.contains("was removed or replaced while processes use it")
                        && up.errors.contains("sluice restore DIR --shard 5")
                }
                // This process has not opened the shard, and finds a backup there; the others take its commands.
                let ids = try await installation.sluice("submit", "noop", "--payload", "-", input: Self.bulk).ids
                #expect(ids.count > 40 && up.ending == nil)
            }
        }

        @Test func `prune --compact needs the store for itself, and makes its files smaller`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let payload = #"{"payload":{"milliseconds":0}}"#
                let bulk = [String](repeating: payload, count: 20_000).joined(separator: "\n")
                _ = try await installation.sluice("submit", "noop", "--payload", "-", input: bulk)
                let up = try await installation.up(workers: 1)
                do {
                    let store = try installation.files()
                    try await installation.drained(store)
                }
                let refused = try await installation.sluice("prune", "--older-than", "1ms", "--compact")
                #expect(refused.code == 75 && refused.errors.contains("coordinator"), "\(refused.errors)")
                up.signal(SIGTERM)
                #expect(try await up.end(within: .seconds(60)) == .exited(0))
                let pruned = try await installation.sluice("prune", "--older-than", "1ms", "--compact", "--json")
                #expect(pruned.code == 0, "\(pruned.errors)")
                let (before, after) = (
                    try #require(try pruned.json()["bytesBefore"]?.integer),
                    try #require(try pruned.json()["bytesAfter"]?.integer)
                )
                #expect(before > 10 << 20 && after < 2 << 20, "\(before) to \(after)")
                #expect(try await installation.sluice("submit", "noop").code == 0)
            }
        }

        @Test func `a restore that is killed leaves the old store, or one that is refused until it is restored again`()
            async throws
        {
            try await Installation.with(inProcess: false) { installation in
                var random = SeededRandom.announced("killed restore")
                let copy = "\(installation.directory.path)/copy"
                let bulk = [String](repeating: #"{"payload":{}}"#, count: 20_000).joined(separator: "\n")
                let kept = try await installation.sluice("submit", "noop", "--payload", "-", input: bulk).ids
                #expect(try await installation.sluice("backup", copy).code == 0)
                let later = try await installation.sluice("submit", "noop").ids
                for _ in 0..<12 {
                    let restore = try installation.start("restore", copy)
                    try await Task.sleep(for: .milliseconds(random.number(in: 1..<400)))
                    restore.signal(SIGKILL)
                    _ = await restore.end
                    let status = try await installation.sluice("status", "--json")
                    if status.code == 0 {
                        let count = try status.json()["counts"]?["new"]?.integer
                        #expect(count == Int64(kept.count) || count == Int64(kept.count + later.count))
                    } else {
                        #expect(status.errors.contains("run “sluice restore \(copy)” again"), "\(status.errors)")
                        #expect(try await installation.sluice("submit", "noop").code != 0)
                    }
                }
                let restored = try await installation.sluice("restore", copy)
                #expect(restored.code == 0, "\(restored.errors)")
                let store = try installation.files()
                #expect(try store.counts()[.new] == kept.count)
                for shard in 0..<8 { #expect(try store.integrityCheck(shard: shard).isEmpty) }
            }
        }
    }
}

import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Descriptors of the store, and the order of writes and syncs.
    struct DurabilityTests {
        @Test(.filesOnly("a server keeps the shards in its own files"))
        func `each running worker holds its own descriptors of every shard`() async throws {
            try await Installation.with { installation in
                let up = try await installation.up(workers: 3)
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                let workers = try await installation.workers()
                #expect(Set(workers).count == 3)
                #expect(!workers.contains(up.pid))
                let data = URL(fileURLWithPath: installation.data).resolvingSymlinksInPath().path
                for worker in workers {
                    let directory = "/proc/\(worker)/fd"
                    let open = try FileManager.default.contentsOfDirectory(atPath: directory)
                        .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)") }
                    for shard in 0..<8 {
                        #expect(open.contains("\(data)/shard-0\(shard).sqlite"), "worker \(worker), shard \(shard)")
                        #expect(open.contains("\(data)/shard-0\(shard).sqlite-wal"), "worker \(worker), WAL \(shard)")
                    }
                }
            }
        }

        @Test(
            .enabled(if: isAvailable(program("strace") != nil), "strace is not installed"),
            .filesOnly("the server syncs; a server that does not is refused, see ServerStoreTests"))
        func `the WAL is synced between the write and the acknowledgement`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let trace = "\(installation.directory.path)/trace"
                let traced = try await installation.run(
                    program: #require(program("strace")),
                    [
                        "-f", "-y", "-s", "40", "-o", trace, "-e",
                        "trace=pwrite64,pwritev,write,fdatasync,fsync,rename",
                        "\(Installation.bin)/sluice", "submit", "noop",
                    ])
                guard traced.code == 0 else {
                    // A container without ptrace: the test can conclude nothing.
                    #expect(traced.errors.contains("ptrace"), "\(traced.errors)")
                    if requiresPeers { Issue.record("strace may trace nothing here: \(traced.errors)") }
                    return
                }
                let id = try #require(traced.ids.first)
                let calls = String(decoding: contents(of: trace) ?? [], as: UTF8.self).split(separator: "\n")
                let shard = "shard-0\(id.shard(of: 8)).sqlite-wal"
                let acknowledged = try #require(
                    calls.firstIndex { $0.contains("write(1") && $0.contains("\(id)".prefix(18)) })
                let written = try #require(
                    calls[..<acknowledged].lastIndex { $0.contains("pwrite") && $0.contains(shard) },
                    "\(calls.count) calls")
                let synced = calls[written..<acknowledged].contains {
                    ($0.contains("fdatasync(") || $0.contains("fsync(")) && $0.contains(shard)
                }
                #expect(synced, "\(calls[written...acknowledged].joined(separator: "\n"))")
            }
        }

        @Test(.enabled(if: isAvailable(program("strace") != nil), "strace is not installed"))
        func `a copy is synced before its rename, and its directory before the success`() async throws {
            try await Installation.with { installation in
                let target = try installation.directory.makeDirectory("to")
                let source = try installation.directory.file("source", [1, 2, 3])
                let trace = "\(installation.directory.path)/trace"
                _ = try await installation.coordinator()
                let worker = try await installation.tracedWorker(
                    "-y", "-e", "trace=pwrite64,fdatasync,fsync,/^rename", to: trace)
                guard worker != nil else { return }
                let put = try await installation.sluice("put", source, "--to", "file://\(target)/copy", "--wait")
                let id = try #require(put.ids.first)
                #expect(put.code == 0, "\(put.errors)")
                let calls = String(decoding: contents(of: trace) ?? [], as: UTF8.self).split(separator: "\n")
                func next(after index: Int, _ words: String...) throws -> Int {
                    try #require(
                        calls[(index + 1)...].firstIndex { call in words.allSatisfy(call.contains) },
                        "\(words) in \(calls.joined(separator: "\n"))")
                }
                let synced = try next(after: -1, "fdatasync(", ".copy.\(id)", ".part>")
                let renamed = try next(after: synced, "rename", ".part\"", "/copy\"")
                let placed = try next(after: renamed, "fsync(", "/to>")
                // A server writes and syncs the success.
                guard installation.serverStore == nil else { return }
                let success = try next(after: placed, "pwrite64(", "shard-0\(id.shard(of: 8)).sqlite-wal")
                _ = try next(after: success, "fdatasync(", "shard-0\(id.shard(of: 8)).sqlite-wal")
            }
        }

        @Test(.enabled(if: SteppedClock.isAvailable, "libfaketime is not installed"))
        func `a wall clock set back by an hour delays no retry by an hour`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/x", .answer(500), .answer(201))
                let clock = try await SteppedClock(in: installation)
                let coordinator = try await installation.coordinator(environment: clock.environment)
                _ = try await installation.worker(environment: clock.environment)
                let source = try installation.directory.file("file", [1, 2, 3])
                let id = try await installation.sluice("put", source, "--to", "\(receiver.origin)/x").ids[0]
                let store = try installation.store()
                try await installation.await(id, .error, in: store)
                try clock.set(.seconds(-3600))
                // The clock of a server has not jumped.
                if installation.serverStore == nil {
                    try await until("the coordinator's report") {
                        coordinator.errors.contains("The wall clock jumped by -")
                    }
                }
                // The backoff is 3.75 to 6.25 s; the limit allows for a busy machine, but not for an hour.
                try await installation.await(id, .success, in: store, within: .seconds(40))
                let later = try await installation.sluice("submit", "noop").ids[0]
                try await installation.await(later, .success, in: store)
            }
        }
    }
}

import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Files of `run/` that are removed while processes use them, as by a job that clears old files.
    @Suite(.enabled(if: runsSlowTests, "slow")) struct SweptRunDirectoryTests {
        /// Removes the files of `run/` with these endings.
        private static func sweep(_ installation: Installation, _ suffixes: String...) throws {
            let run = "\(installation.data)/run"
            for name in try FileManager.default.contentsOfDirectory(atPath: run) {
                if suffixes.contains(where: { name.hasSuffix($0) }) { unlink("\(run)/\(name)") }
            }
        }

        private static func exists(_ name: String, _ installation: Installation) -> Bool {
            FileManager.default.fileExists(atPath: "\(installation.data)/run/\(name)")
        }

        @Test func `sockets that were removed are bound anew, and a new worker and monitor reach the coordinator`()
            async throws
        {
            try await Installation.with(inProcess: false) { installation in
                let coordinator = try await installation.coordinator()
                let worker = try await installation.worker()
                try Self.sweep(installation, ".sock")
                for name in ["events.sock", "intake.sock", "reports.sock", "control.sock", "worker-0.sock"] {
                    try await until("\(name)", within: .seconds(5)) { Self.exists(name, installation) }
                }
                let second = try await installation.worker()
                let watch = try installation.start("watch", "--json")
                try await until("the snapshot") { watch.output.contains("worker/1") || !watch.output.isEmpty }
                let bulk = [String](repeating: #"{"payload":{"milliseconds":100}}"#, count: 100).joined(separator: "\n")
                let ids = try await installation.sluice("submit", "noop", "--payload", "-", input: bulk).ids
                let store = try installation.store()
                try await installation.drained(store)
                var seats: Set<Int> = []
                for id in ids {
                    let command = try #require(try store.command(id))
                    #expect(command.claim == 1 && command.status == .success)
                    if let seat = command.seat { seats.insert(seat) }
                }
                #expect(seats == [0, 1])
                #expect(coordinator.ending == nil && worker.ending == nil && second.ending == nil)
                #expect(coordinator.errors.contains("bound anew"))
            }
        }

        @Test func `locks that were removed are made anew, and never held twice`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let coordinator = try await installation.coordinator()
                let worker = try await installation.worker("--concurrency", "4")
                let bulk = [String](repeating: #"{"payload":{"milliseconds":3000}}"#, count: 4).joined(separator: "\n")
                let ids = try await installation.sluice(
                    "submit", "noop", "--payload", "-", "--idempotent", "no", input: bulk
                ).ids
                let store = try installation.store()
                try await until("four executions") { try store.counts()[.sent] == 4 }

                // Within a beat of the holders, and while they are stopped and cannot make them anew.
                for process in [coordinator, worker] { process.signal(SIGSTOP) }
                try Self.sweep(installation, ".lock")
                let second = try await installation.sluice("coordinator")
                #expect(second.code == 75, "\(second.errors)")
                let other = try installation.start("worker")
                try await until("the seat of the second worker") {
                    try Self.exists("begun-1", installation, prefix: true)
                }
                for process in [coordinator, worker] { process.signal(SIGCONT) }
                try await until("the lock files", within: .seconds(5)) {
                    try String(contentsOfFile: "\(installation.data)/run/coordinator.lock", encoding: .utf8)
                        == "\(coordinator.pid)\n"
                        && !String(contentsOfFile: "\(installation.data)/run/seat-00.lock", encoding: .utf8).isEmpty
                }
                #expect(try await installation.sluice("coordinator").code == 75)

                // A coordinator that starts after a sweep takes no living worker for a dead one.
                worker.signal(SIGSTOP)
                try Self.sweep(installation, ".lock")
                coordinator.signal(SIGKILL)
                _ = await coordinator.end
                let third = try installation.start("coordinator")
                try await until("the third coordinator") { third.errors.contains("Coordinator ready.") }
                try await Task.sleep(for: .seconds(1))
                worker.signal(SIGCONT)
                for id in ids {
                    let command = try await installation.await(id, .success, .inDoubt, in: store)
                    #expect(command.status == .success && command.claim == 1, "\(command.status)")
                }
                #expect(worker.ending == nil && other.ending == nil && third.ending == nil)
            }
        }

        @Test func `a coordinator and a worker whose run directory is replaced end with a sentence`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let coordinator = try await installation.coordinator()
                let worker = try await installation.worker()
                try FileManager.default.removeItem(atPath: "\(installation.data)/run")
                for process in [coordinator, worker] {
                    guard case .exited(let code) = try await process.end(within: .seconds(20)) else {
                        Issue.record("\(process.name) did not exit")
                        continue
                    }
                    #expect(code != 0)
                    #expect(process.errors.contains("was removed or replaced"), "\(process.errors)")
                }
                // Everything is made anew.
                _ = try await installation.up(workers: 1)
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
            }
        }

        @Test(.filesOnly("a store on a server is restored with its server"))
        func `a restore does not begin beside processes whose locks were swept away`() async throws {
            try await Installation.with(inProcess: false) { installation in
                _ = try await installation.coordinator()
                let worker = try await installation.worker()
                let copy = "\(installation.directory.path)/copy"
                #expect(try await installation.sluice("backup", copy).code == 0)
                worker.signal(SIGSTOP)
                try Self.sweep(installation, ".lock")
                let restore = try await installation.sluice("restore", copy)
                #expect(restore.code == 75, "\(restore.errors)")
                worker.signal(SIGCONT)
            }
        }

        private static func exists(_ name: String, _ installation: Installation, prefix: Bool) throws -> Bool {
            try FileManager.default.contentsOfDirectory(atPath: "\(installation.data)/run").contains {
                $0.hasPrefix(name)
            }
        }
    }
}

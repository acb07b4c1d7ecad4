import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice up` and its children.
    struct UpTests {
        /// The process ids of the coordinator and the workers, from `sluice status`.
        private static func children(_ installation: Installation) async throws -> [Int32] {
            let coordinator = try await installation.status()?["coordinator"]?["pid"]?.integer
            return try await installation.workers() + [coordinator].compactMap { $0.map { Int32($0) } }
        }

        /// Whether a process runs. A process that has ended may still exist as a zombie.
        private static func runs(_ pid: Int32) -> Bool {
            let facts = String(decoding: contents(of: "/proc/\(pid)/stat") ?? [], as: UTF8.self)
            let state = facts.split(separator: ")").last?.split(separator: " ").first
            return state.map { $0 != "Z" && $0 != "X" } ?? false
        }

        @Test func `after up is killed its workers drain, and no process remains`() async throws {
            try await Installation.with { installation in
                let up = try await installation.up(workers: 2)
                let (middle, low) = try await installation.submitLongNoops()
                let store = try installation.store()
                let children = try await Self.children(installation)
                #expect(children.count == 3)
                for worker in try await installation.workers() {
                    let line = contents(of: "/proc/\(worker)/cmdline")?.split(separator: 0).map {
                        String(decoding: $0, as: UTF8.self)
                    }
                    let words = try #require(line)
                    #expect(zip(words, words.dropFirst()).contains { $0 == "--grace" && $1 == "25000ms" }, "\(words)")
                }
                up.signal(SIGKILL)
                _ = await up.end
                let released = try await installation.await(low, .new, in: store, within: .seconds(20))
                #expect(released.retries == 0)
                try await installation.await(middle, .success, in: store, within: .seconds(20))
                try await until("the end of every command") { !children.contains(where: Self.runs) }
                #expect(try store.sessions().isEmpty)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a worker that is killed again and again while it is ready is started again each time`() async throws {
            try await Installation.with { installation in
                let up = try installation.start("up", "--workers", "1")
                var killed: Set<Int32> = []
                while killed.count < 7 {
                    let worker = try await awaited("worker number \(killed.count + 1)") {
                        if let ending = up.ending { throw Missed("it ended: \(ending)\n\(up.errors)") }
                        return try await installation.workers().first { !killed.contains($0) }
                    }
                    killed.insert(worker)
                    kill(worker, SIGKILL)
                }
                let id = try #require(try await installation.sluice("submit", "noop").ids.first)
                try await installation.await(id, .success, in: try installation.store(), within: .seconds(40))
                #expect(up.ending == nil)
            }
        }
    }
}

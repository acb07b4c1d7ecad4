import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// A sync of a list that is much larger than the memory of its worker may be (operations.md, section 10:
    /// 64 MB).
    struct LargeSyncTests {
        /// The peak memory of a process in bytes (proc_pid_status(5): VmHWM).
        private func peak(_ process: Int32) throws -> Int {
            let status = String(decoding: try #require(contents(of: "/proc/\(process)/status")), as: UTF8.self)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            return try #require(Int(line.split(whereSeparator: \.isWhitespace)[1])) << 10
        }

        private func sync(
            _ installation: Installation, _ list: GeneratedList, to collection: String = "large"
        ) async throws -> JSONValue {
            let finished = try await installation.sluice(
                "sync", list.url, "--collection", collection, "--mode", "replace", "--wait", "--json",
                within: .seconds(400))
            try #require(finished.code == 0, "\(finished.errors)")
            return try #require(try finished.json()["result"])
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `an array of 60 MB in one answer needs little more memory than one of 6 MB`() async throws {
            try await Installation.with { installation in
                let list = try GeneratedList(records: 60_000, recordBytes: 1000)
                defer { list.stop() }
                _ = try await installation.up()
                let worker = try #require(try await installation.workers().first)
                // A short list fills the caches of SQLite too, and reads the same pages of the program.
                let short = try GeneratedList(records: 6000, recordBytes: 1000)
                defer { short.stop() }
                for _ in 0..<2 { _ = try await sync(installation, short, to: "short") }
                let before = try peak(worker)
                let first = try await sync(installation, list)
                #expect(first["inserted"]?.integer == 60_000 && first["bytes"]?.integer == Int64(list.bytes))
                let middle = try peak(worker)
                let second = try await sync(installation, list)
                #expect(second["unchanged"]?.integer == 60_000 && second["rev"]?.integer == 1)
                let after = try peak(worker)
                print(
                    "sync of 60 MB: \(before >> 10) kB before, \(middle >> 10) kB first, \(after >> 10) kB unchanged")
                #expect(after - before < list.bytes / 3)
                // A read of the whole collection sees one revision, also after such a merge.
                let count = try await installation.sluice(
                    "collection", "query", "large", "--sql",
                    "SELECT count(*) AS n, count(DISTINCT rev) AS r FROM record",
                    "--json")
                #expect(count.output == "{\"n\":60000,\"r\":1}\n", "\(count.errors)")
            }
        }
    }
}

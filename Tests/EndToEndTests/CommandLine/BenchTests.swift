import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite(.enabled(if: runsSlowTests, "slow"), .filesOnly("bench takes no store from SLUICE_STORE"))
    struct BenchTests {
        @Test func `bench prints its figures with the machine and versions, and removes its files`()
            async throws
        {
            try await Installation.with { installation in
                let directory = "\(installation.directory.path)/bench"
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                let finished = try await installation.sluice(
                    "bench", "queue", "--figure", "start", "--directory", directory, "--json", within: .seconds(120))
                let report = try JSONValue(parsing: #require(finished.lines.first, "\(finished.errors)").utf8)
                for name in ["date", "machine", "kernel", "fileSystem", "sluice", "sqlite", "zeromq"] {
                    #expect(report[name]?.string?.isEmpty == false, "\(name) in \(finished.output)")
                }
                #expect(
                    report["durability"]?.string == "WAL, synchronous=FULL: what is acknowledged is on disk",
                    "\(finished.output)")
                // Skip the row without a target: the time that the host took.
                let figures = try #require(report["figures"]?.elements).filter { ($0["met"] ?? .null) != .null }
                // A debug build on a busy machine may miss a target, and reports that.
                let isMet = figures.allSatisfy { $0["met"] == .bool(true) }
                #expect(finished.code == (isMet ? 0 : 1), "\(finished.errors)")
                #expect(figures.map { $0["name"]?.string } == ["worker: start to ready", "worker: peak memory, idle"])
                for figure in figures {
                    #expect(figure["value"]?.double ?? 0 > 0 && figure["unit"]?.string != nil)
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
            }
        }

        @Test func `bench latency prints the median, the 99th percentile and the maximum, in this order`() async throws
        {
            try await Installation.with { installation in
                let directory = try installation.directory.makeDirectory("bench")
                let finished = try await installation.sluice(
                    "bench", "latency", "--directory", directory, "--json", within: .seconds(120))
                let report = try JSONValue(parsing: #require(finished.lines.first, "\(finished.errors)").utf8)
                let figures = try #require(report["figures"]?.elements).filter { $0["unit"]?.string == "ms" }
                let values = figures.compactMap { $0["value"]?.double }
                #expect(values.count == 3 && values == values.sorted() && values[0] > 0, "\(finished.output)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
            }
        }

        @Test(
            .enabled(
                if: isAvailable(["nginx", "curl", "rclone"].allSatisfy { program($0) != nil }),
                "it compares curl and rclone at an nginx"))
        func `bench upload compares with curl and rclone, names their versions, and prints a table`() async throws {
            try await Installation.with { installation in
                let directory = try installation.directory.makeDirectory("bench")
                let finished = try await installation.sluice(
                    "bench", "upload", "--scale", "1", "--directory", directory, within: .seconds(240))
                // A missed target is the only allowed problem here.
                #expect([0, 1].contains(finished.code) && finished.errors.isEmpty, "\(finished.errors)")
                for row in [
                    "one file of 20 MB, curl -T", "one file of 20 MB, sluice put", "  of curl",
                    "50 files of 66 kB, rclone --transfers 32", "50 files of 66 kB, sluice put", "  of rclone",
                    "worker: peak memory, 64 uploads of 50 MB",
                ] {
                    #expect(finished.lines.contains { $0.hasPrefix(row) }, "\(row): \(finished.output)")
                }
                for tool in ["curl [0-9]", "rclone v?[0-9]", "nginx [0-9]"] {
                    #expect(
                        finished.output.range(of: tool, options: .regularExpression) != nil,
                        "\(tool): \(finished.output)")
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
            }
        }

        @Test func `bench recovery makes the requested number of kills, and each command is claimed after its release`()
            async throws
        {
            try await Installation.with { installation in
                let directory = try installation.directory.makeDirectory("bench")
                let finished = try await installation.sluice(
                    "bench", "queue", "--figure", "recovery", "--kills", "3", "--directory", directory, "--json",
                    within: .seconds(120))
                let report = try JSONValue(parsing: #require(finished.lines.first, "\(finished.errors)").utf8)
                let figures = try #require(report["figures"]?.elements)
                func value(_ name: String) -> Double? {
                    figures.first { $0["name"]?.string == name }?["value"]?.double
                }
                let kills = try #require(value("kill -9 with every slot full"))
                #expect((1...3).contains(kills), "\(finished.output)")
                for share in ["p50", "p99"] {
                    let released = try #require(value("kill -9 to released, \(share)"))
                    let claimed = try #require(value("kill -9 to claimed again, \(share)"))
                    #expect(0 <= released && released <= claimed && claimed < 10_000, "\(finished.output)")
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
            }
        }

        @Test(arguments: zip([SIGTERM, SIGINT], [143, 130]))
        func `a signal ends bench while it waits for its processes`(signal: Int32, code: Int32)
            async throws
        {
            try await Installation.with { installation in
                let directory = try installation.directory.makeDirectory("bench")
                let bench = try installation.start("bench", "queue", "--figure", "single", "--directory", directory)
                try await until("its submitting processes") { !processes(naming: directory).isEmpty }
                bench.signal(signal)
                #expect(try await bench.end(within: .seconds(10)) == .exited(code), "\(bench.errors)")
                try await until("the end of its processes") { processes(naming: directory).isEmpty }
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
            }
        }

        /// The children of a bench. Their command lines name a path inside the directory; that of the bench
        /// names the directory.
        private func processes(naming directory: String) -> [String] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return names.filter { name in
                guard Int32(name) != nil else { return false }
                let words = contents(of: "/proc/\(name)/cmdline") ?? []
                return String(decoding: words, as: UTF8.self).contains(directory + "/")
            }
        }
    }
}

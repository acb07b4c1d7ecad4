import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite(.enabled(if: runsSlowTests, "slow")) struct BenchTests {
        @Test func `bench prints its figures with what they were measured on, and leaves nothing behind`()
            async throws
        {
            try await Installation.with { installation in
                let place = "\(installation.place.path)/bench"
                try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
                let finished = try await installation.sluice(
                    "bench", "queue", "--figure", "start", "--directory", place, "--json", within: .seconds(120))
                let report = try JSONValue(parsing: #require(finished.lines.first, "\(finished.errors)").utf8)
                for name in ["date", "machine", "kernel", "fileSystem", "sluice", "sqlite", "zeromq"] {
                    #expect(report[name]?.string?.isEmpty == false, "\(name) in \(finished.output)")
                }
                #expect(
                    report["durability"]?.string == "WAL, synchronous=FULL: what is acknowledged is on disk",
                    "\(finished.output)")
                // Without what has no aim: how much the host took, where it took something.
                let figures = try #require(report["figures"]?.elements).filter { ($0["met"] ?? .null) != .null }
                // A debug build on a busy machine may miss an aim, and says so.
                let isMet = figures.allSatisfy { $0["met"] == .bool(true) }
                #expect(finished.code == (isMet ? 0 : 1), "\(finished.errors)")
                #expect(figures.map { $0["name"]?.string } == ["worker: start to ready", "worker: peak memory, idle"])
                for figure in figures {
                    #expect(figure["value"]?.double ?? 0 > 0 && figure["unit"]?.string != nil)
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
            }
        }

        @Test func `bench latency tells of the median, the tail and the worst, in this order`() async throws {
            try await Installation.with { installation in
                let place = try installation.place.directory("bench")
                let finished = try await installation.sluice(
                    "bench", "latency", "--directory", place, "--json", within: .seconds(120))
                let report = try JSONValue(parsing: #require(finished.lines.first, "\(finished.errors)").utf8)
                let figures = try #require(report["figures"]?.elements).filter { $0["unit"]?.string == "ms" }
                let values = figures.compactMap { $0["value"]?.double }
                #expect(values.count == 3 && values == values.sorted() && values[0] > 0, "\(finished.output)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
            }
        }

        @Test(
            .enabled(
                if: isAvailable(["nginx", "curl", "rclone"].allSatisfy { program($0) != nil }),
                "it compares curl and rclone at an nginx"))
        func `bench upload compares itself with curl and rclone of a version, and prints a table`() async throws {
            try await Installation.with { installation in
                let place = try installation.place.directory("bench")
                let finished = try await installation.sluice(
                    "bench", "upload", "--scale", "5", "--directory", place, within: .seconds(240))
                // An aim may be missed here, and nothing else.
                #expect([0, 1].contains(finished.code) && finished.errors.isEmpty, "\(finished.errors)")
                for row in [
                    "one file of 100 MB, curl -T", "one file of 100 MB, sluice put", "  of curl",
                    "250 files of 66 kB, rclone --transfers 32", "250 files of 66 kB, sluice put", "  of rclone",
                    "worker: peak memory, 64 uploads of 50 MB",
                ] {
                    #expect(finished.lines.contains { $0.hasPrefix(row) }, "\(row): \(finished.output)")
                }
                for tool in ["curl [0-9]", "rclone v?[0-9]", "nginx [0-9]"] {
                    #expect(
                        finished.output.range(of: tool, options: .regularExpression) != nil,
                        "\(tool): \(finished.output)")
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
            }
        }

        @Test func `bench recovery kills no more than it was told, and each command is claimed after it was released`()
            async throws
        {
            try await Installation.with { installation in
                let place = try installation.place.directory("bench")
                let finished = try await installation.sluice(
                    "bench", "queue", "--figure", "recovery", "--kills", "3", "--directory", place, "--json",
                    within: .seconds(120))
                let report = try JSONValue(parsing: #require(finished.lines.first, "\(finished.errors)").utf8)
                let figures = try #require(report["figures"]?.elements)
                func value(_ name: String) -> Double? {
                    figures.first { $0["name"]?.string == name }?["value"]?.double
                }
                let kills = try #require(value("kill -9 with every place full"))
                #expect((1...3).contains(kills), "\(finished.output)")
                for share in ["p50", "p99"] {
                    let released = try #require(value("kill -9 to released, \(share)"))
                    let claimed = try #require(value("kill -9 to claimed again, \(share)"))
                    #expect(0 <= released && released <= claimed && claimed < 10_000, "\(finished.output)")
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
            }
        }

        @Test(arguments: zip([SIGTERM, SIGINT], [143, 130]))
        func `a bench that is told to end does so while it waits for its processes`(signal: Int32, code: Int32)
            async throws
        {
            try await Installation.with { installation in
                let place = try installation.place.directory("bench")
                let bench = try installation.start("bench", "queue", "--figure", "single", "--directory", place)
                try await until("its submitting processes") { !processes(naming: place).isEmpty }
                bench.signal(signal)
                #expect(try await bench.end(within: .seconds(10)) == .exited(code), "\(bench.errors)")
                try await until("the end of its processes") { processes(naming: place).isEmpty }
                #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
            }
        }

        /// Children of a bench in that directory: it names one inside it, and its own command line the directory itself.
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

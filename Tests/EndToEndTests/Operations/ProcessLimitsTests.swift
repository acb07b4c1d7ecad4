import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// Unusual limits and descriptors that a process inherits.
    struct ProcessLimitsTests {
        private func link(_ path: String) -> String? {
            try? FileManager.default.destinationOfSymbolicLink(atPath: path)
        }

        @Test func `a copy beyond the file size limit of the process fails, and the reason names the limit`()
            async throws
        {
            try await Installation.with { installation in
                let up = try installation.start(
                    program: #require(program("bash")),
                    ["-c", "ulimit -f 4096; exec \(Installation.bin)/sluice up --workers 1"])
                try await installation.ready(workers: 1, up)
                let large = try installation.directory.file("large", [UInt8](repeating: 1, count: 5 << 20))
                let small = try installation.directory.file("small", [1, 2])
                let target = try installation.directory.makeDirectory("o")
                let put = try await installation.sluice("put", large, "--to", "file://\(target)/", "--wait")
                #expect(put.code == 1, "\(put.errors)")
                #expect(put.errors.contains("ulimit -f"), "\(put.errors)")
                #expect(!put.errors.contains("make room"), "\(put.errors)")
                #expect(try await installation.sluice("put", small, "--to", "file://\(target)/", "--wait").code == 0)
                #expect(up.ending == nil)
                #expect(try FileManager.default.contentsOfDirectory(atPath: target) == ["small"])
            }
        }

        @Test func `a spooled copy beyond the file size limit is refused with its own error`() async throws {
            try await Installation.with { installation in
                let large = try installation.directory.file("large", [UInt8](repeating: 1, count: 5 << 20))
                let put = try await installation.run(
                    program: #require(program("bash")),
                    ["-c", "ulimit -f 4096; exec \(Installation.bin)/sluice put \(large) --spool --to file:///x"])
                #expect(put.code == 74, "\(put.ending) \(put.errors)")
                #expect(put.errors.contains("ulimit -f"), "\(put.errors)")
                #expect(!put.errors.contains("make room"), "\(put.errors)")
            }
        }

        @Test func `a service without standard descriptors opens no file as descriptor 0, 1 or 2`() async throws {
            try await Installation.with { installation in
                let up = try installation.start(
                    program: #require(program("bash")),
                    ["-c", "exec \(Installation.bin)/sluice up --workers 1 0<&- 1>&- 2>&-"])
                try await installation.ready(workers: 1, up)
                let worker = try #require(try await installation.workers().first)
                // The supervisor passes pipes to its children as standard input and standard error.
                for (pid, descriptors) in [(up.pid, 0...2), (worker, 1...1)] {
                    for descriptor in descriptors {
                        #expect(link("/proc/\(pid)/fd/\(descriptor)") == "/dev/null", "\(pid) \(descriptor)")
                    }
                }
            }
        }

        @Test func `a worker of the library opens no file as descriptor 0, 1 or 2 either`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let worker = try installation.start(
                    program: #require(program("bash")),
                    ["-c", "exec \(Installation.bin)/example-worker \(installation.data) 0<&- 1>&- 2>&-"])
                try await until("its ignored signals") {
                    guard let status = contents(of: "/proc/\(worker.pid)/status"),
                        let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
                            .first(where: { $0.hasPrefix("SigIgn:") }),
                        let mask = UInt64(line.split(separator: "\t").last ?? "", radix: 16)
                    else { return false }
                    return mask & (1 << (25 - 1)) != 0
                }
                for descriptor in 0...2 { #expect(link("/proc/\(worker.pid)/fd/\(descriptor)") == "/dev/null") }
            }
        }
    }
}

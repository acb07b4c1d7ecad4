import Commands
import Foundation
import Glibc
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

        /// The others found: every subcommand that opens the store, and each service.
        @Test(arguments: ["submit noop", "status", "put /dev/null --to http://127.0.0.1:9/", "up", "worker", "doctor"])
        func `a command that may open too few files names the limit and does nothing`(_ command: String) async throws {
            try await Installation.with { installation in
                let run = try await installation.run(
                    program: #require(program("bash")),
                    ["-c", "ulimit -n 16; exec \(Installation.bin)/sluice \(command)"])
                #expect(run.code == 75, "\(run.ending) \(run.errors)")
                #expect(
                    run.errors.contains("may have 16 descriptors") && run.errors.contains("ulimit -n"), "\(run.errors)")
                #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
                #expect(!FileManager.default.fileExists(atPath: installation.data))
            }
        }

        @Test(arguments: [(20, "up --workers 2"), (40, "up --workers 2"), (60, "up --workers 2"), (8, "submit noop")])
        func `a command that may start too few threads names the limit and does nothing`(
            _ max: Int, _ command: String
        ) async throws {
            guard let group = ControlGroup(with: "pids.max") else { return }
            try group.write("\(max)", to: "pids.max")
            try await Installation.with { installation in
                let run = try await installation.run(
                    program: "/bin/sh",
                    Array(
                        group.running(["\(Installation.bin)/sluice"] + command.split(separator: " ").map(String.init))[
                            1...]))
                #expect(run.code == 75, "\(run.ending) \(run.errors)")
                #expect(run.errors.contains("pids.max of \(group.directory), which is \(max)"), "\(run.errors)")
                #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
                #expect(!FileManager.default.fileExists(atPath: installation.data))
            }
            await group.remove()
        }

        /// libzmq ended the coordinator where a listener got no descriptor. The connections need not speak ZeroMQ.
        @Test func `more monitors than a coordinator may have descriptors leave it as it is`() async throws {
            try await Installation.with { installation in
                let up = try installation.start(
                    program: #require(program("bash")),
                    ["-c", "ulimit -n 512; exec \(Installation.bin)/sluice up --workers 1"])
                try await installation.ready(workers: 1, up)
                let coordinator = try #require(try await installation.status()?["coordinator"]?["pid"]?.integer)
                let monitors = try (0..<700).map { _ in try Self.connect("\(installation.data)/run/events.sock") }
                defer { for monitor in monitors { close(monitor) } }
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                #expect(try await installation.status()?["coordinator"]?["pid"]?.integer == coordinator)
                let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(coordinator)/fd").count
                #expect(open <= 256 + 8, "\(open)")
                try await until("the warning") { up.errors.contains("Monitors or producers are refused") }
            }
        }

        private static func connect(_ path: String) throws -> CInt {
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let code = withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            guard descriptor >= 0, code == 0 else { throw Missed("\(path): \(String(cString: strerror(errno)))") }
            return descriptor
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

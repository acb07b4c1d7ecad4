import Commands
import Foundation
import Glibc
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The interface to service managers and shells.
    struct DeploymentTests {
        @Test(arguments: ["coordinator", "worker", "up"])
        func `systemd is notified once that a service is ready, and once that it stops`(_ service: String) async throws
        {
            try await Installation.with { installation in
                let manager = try NotifySocket("\(installation.directory.path)/notify")
                let child = try installation.start(service, environment: ["NOTIFY_SOCKET": manager.path])
                let first = try await awaited("the first notification") { manager.next() }
                #expect(first == "READY=1")
                #expect(child.ending == nil)
                child.signal(SIGTERM)
                #expect(try await child.end(within: .seconds(40)) == .exited(0))
                #expect(manager.next() == "STOPPING=1")
                // The children of `up` have sent no notification.
                #expect(manager.next() == nil)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `systemd is notified that a worker stops before its grace ends`()
            async throws
        {
            try await Installation.with { installation in
                let manager = try NotifySocket("\(installation.directory.path)/notify")
                _ = try await installation.coordinator()
                let worker = try await installation.worker(
                    "--grace", "60s", environment: ["NOTIFY_SOCKET": manager.path])
                #expect(try await awaited("the first notification") { manager.next() } == "READY=1")
                let id = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":3000}"#).ids[0]
                try await installation.await(id, .sent, in: installation.store())
                worker.signal(SIGTERM)
                let last = try await awaited("the last notification") { manager.next() }
                #expect(last == "STOPPING=1" && worker.ending == nil)
                #expect(try await worker.end(within: .seconds(20)) == .exited(0))
            }
        }

        @Test func `SIGHUP drains a worker, and “up” under nohup ignores it`() async throws {
            try await Installation.with { installation in
                let up = try installation.start(
                    program: "/usr/bin/nohup", ["\(Installation.bin)/sluice", "up", "--workers", "1"])
                try await installation.ready(workers: 1, up)
                let worker = try await installation.worker()
                worker.signal(SIGHUP)
                #expect(try await worker.end(within: .seconds(20)) == .exited(0))
                up.signal(SIGHUP)
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                #expect(up.ending == nil)
                up.signal(SIGTERM)
                #expect(try await up.end(within: .seconds(40)) == .exited(0))
            }
        }

        @Test func `the coordinator raises the descriptor limit of its shell`() async throws {
            try await Installation.with { installation in
                let coordinator = try installation.start(
                    program: "/bin/sh", ["-c", "ulimit -Sn 100; exec \(Installation.bin)/sluice coordinator"])
                try await until("the coordinator") { try await installation.status()?["coordinator"]?["pid"] != nil }
                let limits = String(decoding: contents(of: "/proc/\(coordinator.pid)/limits") ?? [], as: UTF8.self)
                let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") } ?? ""
                let numbers = line.split(separator: " ").compactMap { Int($0) }
                #expect(numbers.count == 2 && numbers[0] == min(numbers[1], 65_536), "\(line)")
            }
        }

        @Test func `the lines of a producer that pauses are submitted during the pause`() async throws {
            try await Installation.with { installation in
                let lines = try installation.directory.file("lines", Array("{\"payload\":{}}\n{\"payload\":{}}\n".utf8))
                _ = try installation.start(
                    program: "/bin/sh",
                    ["-c", "tail -n +1 -f \(lines) | exec \(Installation.bin)/sluice submit noop -"])
                try await until("two commands") { try (try? installation.store())?.counts()[.new] == 2 }
            }
        }

        @Test func `the README's command installs completions that bash can load, with the subcommands`()
            async throws
        {
            try await Installation.with { installation in
                let readme = String(decoding: contents(of: "\(Installation.repository)/README.md") ?? [], as: UTF8.self)
                let blocks = readme.components(separatedBy: "```sh\n").dropFirst()
                let block = try #require(blocks.first { $0.contains("--generate-completion-script") })
                let command = try #require(block.components(separatedBy: "```").first)
                let home = try installation.directory.makeDirectory("home")
                let path = "\(Installation.bin):/usr/bin:/bin"
                let made = try await installation.run(
                    program: "/bin/bash", ["-c", command], environment: ["HOME": home, "PATH": path])
                #expect(made.code == 0 && made.errors.isEmpty, "\(made.errors)")
                let script = "\(home)/.local/share/bash-completion/completions/sluice"
                let words = String(decoding: contents(of: script) ?? [], as: UTF8.self)
                for word in ["put", "submit", "requalify", "--to"] { #expect(words.contains(word), "\(word)") }
                let read = try await installation.run(program: "/bin/bash", ["-n", script])
                #expect(read.code == 0 && read.errors.isEmpty, "\(read.errors)")
            }
        }

        @Test func `doctor reports each shard of a sound data directory as sound`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                let checked = try await installation.sluice("doctor", "--json")
                #expect(checked.code == 0, "\(checked.output)")
                let findings = try checked.lines.map { try JSONValue(parsing: $0.utf8) }
                #expect(
                    !findings.contains { ["warning", "broken"].contains($0["state"]?.string) }, "\(checked.output)")
                // A server has one line for all of them.
                let (check, count) = installation.serverStore == nil ? ("shard ", 8) : ("shards", 1)
                let shards = findings.filter { $0["check"]?.string?.hasPrefix(check) == true }
                #expect(shards.count == count && shards.allSatisfy { $0["state"]?.string == "ok" }, "\(checked.output)")
            }
        }

        @Test func `a service logs in the requested format`() async throws {
            try await Installation.with { installation in
                for format in ["json", "text"] {
                    let coordinator = try installation.start("coordinator", "--log-format", format)
                    let line = try await awaited("its first line") { coordinator.errors.split(separator: "\n").first }
                    let parsed = try? JSONValue(parsing: line.utf8)
                    #expect((parsed?["message"]?.string?.isEmpty == false) == (format == "json"), "\(line)")
                    coordinator.signal(SIGTERM)
                    #expect(try await coordinator.end(within: .seconds(10)) == .exited(0))
                }
            }
        }
    }
}

/// A notification socket like that of systemd for services of `Type=notify`.
private final class NotifySocket: Sendable {
    let path: String
    private let descriptor: CInt

    init(_ path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        // The path must end with a zero byte.
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { throw Missed("\(path) is too long") }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let status = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw Missed("\(path): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// Takes the oldest notification; nil where there is none.
    func next() -> String? {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = recv(descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
        return count >= 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}

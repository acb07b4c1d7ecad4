import Commands
import Foundation
import Glibc
import Host
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

        /// As right after `kill -9` of an earlier one, whose children end a moment later.
        @Test func `up waits for the lock of a coordinator that is being given up`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let run = DataDirectory(path: installation.data).run
                var lock = try run.take(.coordinator, timeout: .seconds(1))
                #expect(lock != nil)
                let up = try installation.start("up", "--workers", "1")
                // Longer than a start takes to look at the lock, and shorter than it waits.
                try await Task.sleep(for: .seconds(1.5))
                lock = nil
                try await installation.ready(workers: 1, up)
            }
        }

        /// The other causes found: a name that is not known, an address of another machine, a second door, and a certificate
        /// that cannot be read.
        @Test(arguments: [nil, "door:\n  certificate: /no/such/chain.pem\n  key: /no/such/key.pem\n"])
        func `a door that cannot start is told once, and the queue runs`(_ configuration: String?) async throws {
            try await Installation.with { installation in
                let listener = try BusyPort()
                mkdir(installation.data, 0o700)
                if let configuration {
                    try configuration.write(
                        toFile: "\(installation.data)/sluice.yaml", atomically: true, encoding: .utf8)
                }
                let address = "127.0.0.1:\(configuration == nil ? listener.port : 0)"
                let up = try installation.start(
                    "up", "--workers", "1", "--listen", address, "--log-level", "debug")
                try await until("the greeting") { up.errors.contains("sluice runs in") }
                // Workers and coordinator ran before the greeting.
                #expect(try await installation.workers().count == 1)
                #expect(up.errors.contains("a coordinator and 1 worker of"), "\(up.errors)")
                #expect(up.errors.contains("yet: it cannot start, and is tried again"), "\(up.errors)")
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                // Five failures ended everything before. A port in use may be free later, and is tried every five seconds.
                let repeats = configuration == nil ? 1 : 5
                let cause = configuration == nil ? "cannot listen at" : "/no/such/chain.pem"
                try await until("more starts of the door", within: .seconds(60)) {
                    if let ending = up.ending { throw Missed("up ended: \(ending)\n\(up.errors)") }
                    return up.errors.components(separatedBy: "A child failed as before").count > repeats
                }
                #expect(up.ending == nil)
                let told = up.errors.split(separator: "\n").filter { $0.hasPrefix("sluice: ") && $0.contains(cause) }
                #expect(told.count == 1, "\(up.errors)")
                if configuration == nil {
                    listener.free()
                    try await until("the door") { try await installation.status()?["door"]?["url"]?.string != nil }
                }
            }
        }

        @Test(
            .enabled(if: SmallFileSystem.mayExist && runsSlowTests, "only root can mount a small tmpfs"),
            .filesOnly("the commands are on the disk of the server"))
        func `a worker that dies while the disk is full comes back when there is room, and the others work on`()
            async throws
        {
            try await Installation.with(data: "disk/data", inProcess: false) { installation in
                let path = "\(installation.directory.path)/disk"
                guard let disk = try await SmallFileSystem("48m", at: path, log: installation.directory) else { return }
                defer { disk.remove() }
                let up = try await installation.up(workers: 2)
                let workers = try await installation.workers()
                let full = try #require(program("dd"))
                _ = try await installation.run(program: full, ["if=/dev/zero", "of=\(path)/full", "bs=64k"])
                kill(workers[0], SIGKILL)
                try await until("a failed start") { up.errors.contains("is started again in 5.0 seconds") }
                #expect(up.ending == nil && Self.runs(workers[1]))
                unlink("\(path)/full")
                try await until("both workers") { try await installation.workers().count == 2 }
                #expect(try await installation.workers().contains(workers[1]))
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
            }
        }

        /// Process 1 of a container gets every process that its parent has left.
        @Test(.enabled(if: isAvailable(NetworkBed.obstacle == nil), "needs user namespaces"))
        func `processes that programs leave do not stay as zombies where sluice is process 1`() async throws {
            try await Installation.with { installation in
                mkdir(installation.data, 0o700)
                let yaml = """
                    exec: {enabled: true}
                    programs: [leaver]
                    program:
                      leaver: {path: /usr/bin/dash, arguments: [-c, "setsid sleep 0.2 & setsid sleep 0.3 & exit 0"], kill: leave}
                    """
                try yaml.write(toFile: "\(installation.data)/sluice.yaml", atomically: true, encoding: .utf8)
                let up = try installation.start(
                    program: #require(program("unshare")),
                    [
                        "-Urpf", "--kill-child", "--mount-proc", "\(Installation.bin)/sluice", "up", "--workers", "1",
                    ])
                try await until("the greeting") {
                    if let ending = up.ending { throw Missed("\(ending)\n\(up.errors)") }
                    return up.errors.contains("sluice runs in")
                }
                #expect(try await installation.sluice("exec", "--wait", "leaver").code == 0)
                let first = try #require(Self.children(of: up.pid).first)
                // The programs end within a second, and are waited for at once.
                try await until("the end of the programs") {
                    Self.children(of: first).count == 1 && Self.children(of: first).allSatisfy(Self.runs)
                }
                kill(first, SIGTERM)
                #expect(try await up.end(within: .seconds(40)) == .exited(0))
            }
        }

        private static func children(of pid: Int32) -> [Int32] {
            String(decoding: contents(of: "/proc/\(pid)/task/\(pid)/children") ?? [], as: UTF8.self)
                .split(separator: " ").compactMap { Int32($0) }
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

/// A port of this machine that is taken until ``free()``.
private final class BusyPort {
    let port: Int
    private var descriptor: CInt

    init() throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) | listen(descriptor, 1) | getsockname(descriptor, $0, &length)
            }
        }
        guard code == 0 else { throw Missed("no port: \(String(cString: strerror(errno)))") }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    func free() {
        close(descriptor)
        descriptor = -1
    }

    deinit { close(descriptor) }
}

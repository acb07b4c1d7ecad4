import CZeroMQ
import Glibc
import Testing

@testable import ZeroMQ

/// Where sockets bind and connect.
extension SocketTests {
    @Test func `a path of 107 bytes binds and one of 108 is refused with its length`() async throws {
        let room = SocketEndpoint.maximumPathLength - directory.path.utf8.count - 1
        let fits = directory.endpoint(String(repeating: "x", count: room))
        _ = try await Peer.make(.pull, context, on: loop, bind: fits)
        let passes = directory.endpoint(String(repeating: "x", count: room + 1))
        for attempt in [(passes, nil), (nil, passes)] as [(SocketEndpoint?, SocketEndpoint?)] {
            let error = await #expect(throws: ZeroMQError.self) {
                _ = try await Peer.make(.pull, context, on: loop, bind: attempt.0, connect: attempt.1)
            }
            #expect(error?.code == .pathTooLong)
            #expect(error?.description.contains("has 108") == true)
            #expect(error?.endpoint == passes)
        }
        await stop()
    }

    @Test func `a directory of any length is reached through its descriptor`() async throws {
        let long = directory.path + "/" + String(repeating: "d", count: 200)
        #expect(mkdir(long, 0o700) == 0)
        let descriptor = open(long, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let endpoint = SocketEndpoint.ipc(directoryDescriptor: descriptor, name: "s.sock")
        do {
            let pull = try await Peer.make(.pull, context, on: loop, bind: endpoint)
            let push = try await Peer.make(.push, context, on: other, connect: endpoint)
            await pull.listen()
            #expect(try await push.send("through"))
            #expect(await pull.nextText() == "through")
            var information = stat()
            #expect(lstat("\(long)/s.sock", &information) == 0 && information.st_mode & S_IFMT == S_IFSOCK)
        }
        await stop()
        context.terminate()
        unlink("\(long)/s.sock")
        rmdir(long)
        close(descriptor)
    }

    @Test(arguments: ["file", "link", "directory"])
    func `a file at the path that is not a socket is kept and named`(_ what: String) async throws {
        let path = "\(directory.path)/s.sock"
        switch what {
        case "file": close(open(path, O_CREAT | O_WRONLY, 0o600))
        case "link": symlink("/nowhere", path)
        default: mkdir(path, 0o700)
        }
        let error = await #expect(throws: ZeroMQError.self) {
            _ = try await Peer.make(.pull, context, on: loop, bind: directory.endpoint())
        }
        #expect(error?.code == .notASocket)
        #expect(error?.description.contains(path) == true)
        var information = stat()
        #expect(lstat(path, &information) == 0, "it is still there")
        rmdir(path)
        await stop()
    }

    @Test func `a socket file that a dead process left is replaced`() async throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = "\(directory.path)/s.sock"
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let stale = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(stale, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        close(stale)
        let pull = try await Peer.make(.pull, context, on: loop, bind: directory.endpoint())
        let push = try await Peer.make(.push, context, on: other, connect: directory.endpoint())
        await pull.listen()
        #expect(try await push.send("new"))
        #expect(await pull.nextText() == "new")
        await stop()
    }

    @Test func `a missing directory and a taken port are named in a sentence`() async throws {
        let missing = await #expect(throws: ZeroMQError.self) {
            _ = try await Peer.make(.pull, context, on: loop, bind: .ipc(path: "/nonexistent/s.sock"))
        }
        #expect(missing?.code == .noSuchDirectory)
        let first = try await Peer.make(.pull, context, on: loop, bind: .tcp(host: "127.0.0.1", port: 0))
        let port = try #require(await first.lastEndpoint.split(separator: ":").last.flatMap { UInt16($0) })
        let taken = await #expect(throws: ZeroMQError.self) {
            _ = try await Peer.make(.pull, context, on: loop, bind: .tcp(host: "127.0.0.1", port: port))
        }
        #expect(taken?.code == .addressInUse)
        #expect(taken?.description.contains("tcp://127.0.0.1:\(port)") == true)
        await stop()
    }
}

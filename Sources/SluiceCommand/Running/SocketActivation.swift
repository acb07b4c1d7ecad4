internal import Door
internal import Glibc
internal import Host

/// The socket that systemd has opened for this process: sd_listen_fds(3), without its library.
enum SocketActivation {
    /// The first descriptor that systemd passes.
    private static let first: CInt = 3

    /// The socket, and its address. Nil where there is none. A second call finds none, nor does a child process.
    /// - Throws: ``ExitError`` `configuration` for several sockets, and for one that is not a TCP socket that listens.
    static func socket() throws -> (descriptor: CInt, address: ListenAddress)? {
        defer { for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) } }
        guard number("LISTEN_PID") == Int(getpid()), let count = number("LISTEN_FDS"), count > 0 else { return nil }
        guard count == 1 else {
            throw ExitError(
                .configuration, "the socket unit passes \(count) sockets; give it one ListenStream= for the door")
        }
        _ = fcntl(first, F_SETFD, FD_CLOEXEC)
        guard isListening(first), let address = address(of: first) else {
            throw ExitError(
                .configuration,
                "the socket unit passes a socket that is not a TCP socket that listens; use ListenStream=HOST:PORT")
        }
        return (first, address)
    }

    private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

    private static func isListening(_ descriptor: CInt) -> Bool {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value == 1
    }

    private static func address(of descriptor: CInt) -> ListenAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
        let isNamed = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getsockname(descriptor, address, &length) == 0
                    && getnameinfo(
                        address, length, &host, socklen_t(host.count), &port, socklen_t(port.count),
                        NI_NUMERICHOST | NI_NUMERICSERV) == 0
            }
        }
        guard isNamed, let number = Int(Self.text(port)) else { return nil }
        return ListenAddress(host: Self.text(host), port: number)
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

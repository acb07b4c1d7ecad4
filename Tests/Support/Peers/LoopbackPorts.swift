internal import Glibc

/// A port of 127.0.0.1 that nobody listens on at this moment.
package func freePort() throws -> Int {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    return try bindToFreePort(socket)
}

private func bindToFreePort(_ socket: CInt) throws -> Int {
    var address = loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            bind(socket, address, length) == 0 ? getsockname(socket, address, &length) : -1
        }
    }
    guard status == 0 else { throw Missed("no free port") }
    return Int(UInt16(bigEndian: address.sin_port))
}

/// A port of 127.0.0.1 that drops whoever knocks: its queue of connections is full, and nobody takes from it.
package final class FullListener: Sendable {
    package let port: Int
    private let sockets: [CInt]

    package init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        port = try bindToFreePort(listener)
        guard listen(listener, 0) == 0 else { throw Missed("nobody can listen on port \(port)") }
        // A queue of 0 takes one; the next may be on its way.
        let clients = (0..<3).map { _ in
            socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        }
        sockets = [listener] + clients
        var address = loopback(port: port)
        for client in clients {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
    }

    deinit { for socket in sockets { close(socket) } }
}

/// Whether somebody takes connections to a port of 127.0.0.1.
package func isListening(_ port: Int) -> Bool {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = loopback(port: port)
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}

/// The descriptors, below 1024, of this process's connections to a port of loopback.
package func descriptors(connectedTo port: Int) -> [CInt] {
    (3..<CInt(1024)).filter { descriptor in
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafeMutableBytes(of: &address) { bytes in
            getpeername(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length) == 0
        }
        return isConnected && address.sin_family == AF_INET && Int(UInt16(bigEndian: address.sin_port)) == port
    }
}

private func loopback(port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
}

internal import Glibc

/// A port of 127.0.0.1 that drops every SYN: its accept queue is full, and no connection is accepted.
package final class FullListener: Sendable {
    package let port: Int
    private let sockets: [CInt]

    package init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        port = try bindToFreePort(listener)
        guard listen(listener, 0) == 0 else { throw Missed("cannot listen on port \(port)") }
        // A backlog of 0 holds one connection, and a second may be in progress.
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

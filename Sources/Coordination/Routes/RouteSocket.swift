internal import CLinux
internal import Glibc

/// A socket to the kernel for links, addresses and routes (rtnetlink). Confined to one thread.
package final class RouteSocket {
    /// Readable when there is something to ``read()``.
    package let descriptor: CInt
    private var conversation = NetlinkDump()
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    /// Datagrams of one ``read()``, because other sockets need the thread too.
    private static let maxAtOnce = 256

    /// Opens it and asks for the whole table, which the next reads bring.
    /// - Throws: ``RouteError`` where the kernel or a sandbox refuses.
    package init() throws(RouteError) {
        descriptor = clinux_route_socket()
        guard descriptor >= 0 else { throw RouteError(errno) }
        send(conversation.begin())
    }

    deinit { close(descriptor) }

    /// Nil until the first dump is complete.
    package var table: RouteTable? { conversation.table }

    /// Reads the datagrams that are there, without waiting.
    /// - Returns: whether the table has changed.
    package func read() -> Bool {
        let before = conversation.table
        for _ in 0..<Self.maxAtOnce {
            let count = clinux_route_receive(descriptor, &buffer, buffer.count)
            if count >= 0 {
                for request in conversation.take(Array(buffer.prefix(count))) { send(request) }
            } else if errno == ENOBUFS || errno == EMSGSIZE {
                if let request = conversation.overrun() { send(request) }
            } else if errno != EINTR {
                break
            }
        }
        return conversation.table != before
    }

    /// A request that cannot be sent is made again at the next event.
    private func send(_ request: [UInt8]) {
        if Glibc.send(descriptor, request, request.count, CInt(MSG_NOSIGNAL)) < 0 { conversation.abandon() }
    }
}

internal import Glibc
internal import Host

/// Accepts every connection on a loopback port and reads each slowly, so that uploads keep running.
struct BenchSink {
    let port: UInt16
    /// Bytes a second of each connection.
    var rate = 1 << 20

    func run() throws -> Never {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var one: CInt = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let bound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0, listen(listener, 1024) == 0 else {
            throw ExitError(.internalError, "cannot listen on port \(port): \(SystemError().reason)")
        }
        var descriptors = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        var buffer = [UInt8](repeating: 0, count: rate / 20)
        while true {
            usleep(50_000)
            _ = poll(&descriptors, nfds_t(descriptors.count), 1000)
            for index in descriptors.indices.dropFirst().reversed() where descriptors[index].revents != 0 {
                if recv(descriptors[index].fd, &buffer, buffer.count, CInt(MSG_DONTWAIT)) == 0 {
                    close(descriptors[index].fd)
                    descriptors.remove(at: index)
                }
            }
            if descriptors[0].revents != 0 {
                let connection = accept(listener, nil, nil)
                if connection >= 0 { descriptors.append(pollfd(fd: connection, events: Int16(POLLIN), revents: 0)) }
            }
        }
    }
}

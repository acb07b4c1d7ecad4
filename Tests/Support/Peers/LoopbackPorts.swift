internal import Glibc
internal import Synchronization

/// The ports of servers that may restart. The kernel gives connections ports from 32,768 on (ip_local_port_range), so no
/// connection takes one of these while its server is down. `SLUICE_TEST_PORTS` (`15000-17499`) gives each of several test
/// processes a range of its own.
private let serverPorts: ClosedRange<Int> = {
    let bounds = (environmentVariable("SLUICE_TEST_PORTS") ?? "").split(separator: "-").compactMap { Int($0) }
    return bounds.count == 2 && bounds[0] < bounds[1] ? bounds[0]...bounds[1] : 15_000...31_999
}()

private func environmentVariable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// Finds a port of 127.0.0.1 that nothing uses.
package func freePort() throws -> Int {
    for _ in 0..<100 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        let port = nextPort.withLock { next in
            defer { next = next < serverPorts.upperBound ? next + 1 : serverPorts.lowerBound }
            return next
        }
        if bind(socket, toPort: port) { return port }
    }
    throw Missed("no free port")
}

/// Counted on, so that no port is given twice before a server binds it. Processes begin at different ones.
private let nextPort = Mutex(serverPorts.lowerBound + Int(getpid()) * 499 % serverPorts.count)

func bindToFreePort(_ socket: CInt) throws -> Int {
    guard bind(socket, toPort: 0) else { throw Missed("no free port") }
    var address = loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutableBytes(of: &address) { bytes in
        getsockname(socket, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
    }
    return Int(UInt16(bigEndian: address.sin_port))
}

/// Binds a socket to a port of 127.0.0.1. False: the port is in use.
private func bind(_ socket: CInt, toPort port: Int) -> Bool {
    var address = loopback(port: port)
    return withUnsafeBytes(of: &address) { bytes in
        Glibc.bind(
            socket, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
            socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
    }
}

/// Whether a process accepts connections to a port of 127.0.0.1.
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

/// The descriptors below 1,024 of the established connections of this process to a port of 127.0.0.1.
///
/// A connection whose other end has closed does not count: the port of that end can belong to another server now.
package func descriptors(connectedTo port: Int) -> [CInt] {
    (3..<CInt(1024)).filter { descriptor in
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let hasPeer = withUnsafeMutableBytes(of: &address) { bytes in
            getpeername(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length) == 0
        }
        let server = loopback(port: port)
        return hasPeer && address.sin_family == server.sin_family && address.sin_port == server.sin_port
            && address.sin_addr.s_addr == server.sin_addr.s_addr && isEstablished(descriptor)
    }
}

private func isEstablished(_ descriptor: CInt) -> Bool {
    var info = tcp_info()
    var length = socklen_t(MemoryLayout<tcp_info>.size)
    return getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, &info, &length) == 0
        && CInt(info.tcpi_state) == CInt(TCP_ESTABLISHED)
}

func loopback(port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
}

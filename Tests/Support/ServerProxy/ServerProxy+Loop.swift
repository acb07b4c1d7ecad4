internal import Glibc
internal import Host

/// The thread of a proxy, and its sockets.
extension ServerProxy {
    /// Serves all connections until ``stop()``.
    func run() {
        var connections: [ProxiedConnection] = []
        while true {
            let now = MonotonicTime.now
            var entries = [
                pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0),
                pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
            ]
            for connection in connections { entries += connection.entries(now) }
            let due = connections.compactMap { $0.due(after: now) }.min()
            let count = poll(&entries, nfds_t(entries.count), Self.milliseconds(from: now, to: due))
            guard count >= 0 || errno == EINTR else { break }
            if entries[0].revents != 0 {
                var byte: UInt8 = 0
                guard read(wake.read, &byte, 1) > 0 else { break }
                if let action = takeAction() {
                    for connection in connections { connection.meet(action) }
                }
            }
            if entries[1].revents != 0, let connection = accept() { connections.append(connection) }
            for connection in connections { connection.advance(now: .now) }
            connections.removeAll { $0.isClosed }
        }
        for connection in connections { connection.close(resets: false) }
        close(listener)
        close(wake.read)
        if case .socket(let path) = address { unlink(path) }
    }

    /// Rounded up; -1 waits for an event alone.
    private static func milliseconds(from now: MonotonicTime, to due: MonotonicTime?) -> CInt {
        guard let due else { return -1 }
        return CInt(clamping: max((due - now).nanoseconds + 999_999, 0) / 1_000_000)
    }

    private func accept() -> ProxiedConnection? {
        let client = Glibc.accept(listener, nil, nil)
        guard client >= 0 else { return nil }
        let number = registerConnection()
        guard let server = try? Self.connect(to: server) else {
            // As a server that is away, whose host is there.
            close(client)
            return nil
        }
        return ProxiedConnection(client: client, server: server, fault(number)) { [self] in recordFault(number) }
    }

    // MARK: Sockets

    static func listen(at address: Address?) throws -> (descriptor: CInt, address: Address) {
        let descriptor = try socket(of: address ?? .loopback(port: 0))
        // Another proxy may take the place of one that has stopped.
        var on: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
        do {
            try call(Glibc.bind, descriptor, address ?? .loopback(port: 0), "bind")
            guard Glibc.listen(descriptor, 64) == 0 else { throw Missed("cannot listen: error \(errno)") }
            if let address, address != .loopback(port: 0) { return (descriptor, address) }
            return (descriptor, .loopback(port: port(of: descriptor)))
        } catch {
            close(descriptor)
            throw error
        }
    }

    static func connect(to address: Address) throws -> CInt {
        let descriptor = try socket(of: address)
        do {
            try call(Glibc.connect, descriptor, address, "connect to")
        } catch {
            close(descriptor)
            throw error
        }
        var on: CInt = 1
        if case .loopback = address {
            setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        }
        return descriptor
    }

    private static func socket(of address: Address) throws -> CInt {
        let family = if case .loopback = address { AF_INET } else { AF_UNIX }
        let descriptor = Glibc.socket(family, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Missed("cannot make a socket: error \(errno)") }
        return descriptor
    }

    private static func call(
        _ function: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt, _ descriptor: CInt, _ address: Address,
        _ verb: String
    ) throws {
        let code: CInt
        switch address {
        case .loopback(let port):
            var name = loopback(port: port)
            code = withUnsafeBytes(of: &name) { bytes in
                guard let start = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
                return function(descriptor, start, socklen_t(bytes.count))
            }
        case .socket(let path):
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            guard path.utf8.count < MemoryLayout.size(ofValue: name.sun_path) else {
                throw Missed("\(path) is too long")
            }
            withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
            code = withUnsafeBytes(of: &name) { bytes in
                guard let start = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
                return function(descriptor, start, socklen_t(bytes.count))
            }
        }
        guard code == 0 else { throw Missed("cannot \(verb) \(address): \(String(cString: strerror(errno)))") }
    }

    private static func port(of descriptor: CInt) -> Int {
        var name = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutableBytes(of: &name) { bytes in
            getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        return Int(UInt16(bigEndian: name.sin_port))
    }
}

internal import Commands
internal import Door
internal import Glibc
internal import Host
internal import Store

/// Asks a running door of this machine for a login link. Blocks.
enum DoorLogin {
    private static let timeout = timeval(tv_sec: 5, tv_usec: 0)
    private static let maxResponse = 64 << 10

    /// - Parameter address: where the door listens.
    /// - Returns: the link, which opens one session within 10 minutes.
    /// - Throws: ``ExitError`` where the door does not answer, or does not take the token of the machine.
    static func link(_ directory: DataDirectory, at address: ListenAddress) throws -> String {
        guard let token = TextFile.read(directory.doorToken)?.prefix(while: { $0 != "\n" }) else {
            throw ExitError(
                .input,
                "cannot read \(directory.doorToken); the door makes it at its first start: start it with “sluice door”")
        }
        let host = ["0.0.0.0", "::"].contains(address.host) ? "localhost" : address.host
        let reply = try exchange(
            ListenAddress(host: host, port: address.port),
            "POST \(LoginLink.path) HTTP/1.1\r\nHost: \(ListenAddress(host: host, port: address.port))\r\n"
                + "Authorization: Bearer \(token)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        let status = reply.dropFirst(9).prefix(3)
        guard let start = reply.utf8.firstRange(ofText: "\r\n\r\n"),
            let body = try? JSONValue(parsing: Array(reply.utf8[start.upperBound...]))
        else {
            throw ExitError(
                .failed, "the program at \(address) is not a door of Sluice; give its address with --listen")
        }
        guard status == "201", let url = body["url"]?.string else {
            throw ExitError(.failed, "the door at \(address) refused: \(body["detail"]?.string ?? "status \(status)")")
        }
        return url
    }

    private static func exchange(_ address: ListenAddress, _ request: String) throws -> String {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address.host, "\(address.port)", &hints, &list) == 0 else {
            throw ExitError(
                .input, "the name “\(address.host)” is not known; give the address of the door with --listen")
        }
        defer { freeaddrinfo(list) }
        var next = list
        var code: Int32 = 0
        while let entry = next?.pointee {
            next = entry.ai_next
            let descriptor = socket(
                entry.ai_family, entry.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), entry.ai_protocol)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var timeout = timeout
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
            }
            guard connect(descriptor, entry.ai_addr, entry.ai_addrlen) == 0 else {
                code = errno
                continue
            }
            return try exchange(descriptor, request, address)
        }
        throw ExitError(
            .tryAgain,
            "no door answers at \(address): \(SystemError(code).words); start one with “sluice door”, or give its address with "
                + "--listen")
    }

    private static func exchange(_ descriptor: CInt, _ request: String, _ address: ListenAddress) throws -> String {
        let bytes = Array(request.utf8)
        guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw ExitError(.tryAgain, "the door at \(address) has closed the connection; try again")
        }
        var reply: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while reply.count < maxResponse {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0 { throw ExitError(.tryAgain, "the door at \(address) did not answer within 5 s; try again") }
            if count == 0 { break }
            reply += buffer[..<count]
        }
        return String(decoding: reply, as: UTF8.self)
    }
}

extension String.UTF8View {
    fileprivate func firstRange(ofText text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].starts(with: text.utf8) { return start..<index(start, offsetBy: text.utf8.count) }
            start = index(after: start)
        }
        return nil
    }
}

import Glibc
import TestSupport

/// A client that asks for a stream of events, and takes none of it until it is told to.
final class StalledReader: Sendable {
    private let descriptor: CInt
    private let port: UInt16
    private let serverPort: Int

    /// Connects with a small receive buffer, so that few bytes fill it.
    init(_ door: DoorRig, _ query: String) throws {
        serverPort = door.port
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard client >= 0 else { throw Missed("no socket: \(errno)") }
        var size: CInt = 16 << 10
        setsockopt(client, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(door.port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, length) }
        }
        var own = sockaddr_in()
        withUnsafeMutablePointer(to: &own) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(client, $0, &length) }
        }
        (descriptor, port) = (client, UInt16(bigEndian: own.sin_port))
        guard connected == 0 else { throw Missed("cannot connect to port \(door.port)") }
        // Of HTTP/1.0, so that the body has no chunks.
        let request =
            "GET /api/v1/events\(query) HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer \(try door.token)\r\n\r\n"
        let sent = Array(request.utf8).withUnsafeBytes { send(client, $0.baseAddress, $0.count, 0) }
        guard sent == request.utf8.count else { throw Missed("cannot send: \(errno)") }
    }

    deinit { close(descriptor) }

    /// Bytes that the kernel holds for this client on the side of the door; nil after the door has closed.
    var queuedBytes: Int? {
        // A file of the kernel has no size, and comes in pieces.
        guard let table = fopen("/proc/net/tcp", "re") else { return nil }
        defer { fclose(table) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, CInt(line.count), table) != nil {
            // sl, local, remote, state, tx_queue:rx_queue; 01 is ESTABLISHED.
            let fields = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
                separator: " ")
            guard fields.count > 4, fields[3] == "01", fields[1].hasSuffix(":\(hexadecimal(serverPort))"),
                fields[2].hasSuffix(":\(hexadecimal(Int(port)))"), let queue = fields[4].split(separator: ":").first
            else { continue }
            return Int(queue, radix: 16)
        }
        return nil
    }

    /// The body up to the end of the connection. It blocks.
    func readAll() -> String {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            received += buffer[..<count]
        }
        let text = String(decoding: received, as: UTF8.self)
        return text.split(separator: "\r\n\r\n", maxSplits: 1).last.map(String.init) ?? ""
    }

    private func hexadecimal(_ port: Int) -> String {
        let digits = String(port, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }
}

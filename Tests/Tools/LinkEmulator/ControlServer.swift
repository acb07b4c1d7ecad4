import CLinux
import Commands
import Glibc

/// A Unix socket that takes JSON lines and answers each with one.
final class ControlServer {
    private let listener: CInt
    private var connections: [CInt: [UInt8]] = [:]
    private let timeout: Int64
    private var hasBeenUsed = false

    init(path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8CString)
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else {
            throw Refusal("\(path) is too long for a socket")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { target in
            bytes.withUnsafeBytes { target.copyMemory(from: $0) }
        }
        let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        unlink(path)
        let bound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, listen(listener, 8) == 0 else { throw Refusal.system(path) }
        self.listener = listener
        timeout = clinux_monotonic() + 30_000_000_000
    }

    var descriptors: [CInt] { [listener] + connections.keys }

    /// Whether the last connection has ended, or none was made within 30 s.
    var isDeserted: Bool { connections.isEmpty && (hasBeenUsed || clinux_monotonic() > timeout) }

    /// Accepts connections and answers every complete line.
    func serve(_ answer: (JSONValue) throws -> JSONValue) {
        var ready = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        while poll(&ready, 1, 0) == 1 {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { break }
            _ = clinux_fcntl(connection, F_SETFD, FD_CLOEXEC)
            connections[connection] = []
            hasBeenUsed = true
        }
        for connection in Array(connections.keys) { serve(connection, answer) }
    }

    private func serve(_ connection: CInt, _ answer: (JSONValue) throws -> JSONValue) {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = recv(connection, &chunk, chunk.count, CInt(MSG_DONTWAIT))
        if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) {
            connections[connection] = nil
            close(connection)
            return
        }
        guard count > 0, var line = connections.removeValue(forKey: connection) else { return }
        line += chunk[..<count]
        while let end = line.firstIndex(of: UInt8(ascii: "\n")) {
            let response: JSONValue
            do { response = try answer(JSONValue(parsing: line[..<end])) } catch {
                response = ["error": .string("\(error)")]
            }
            send(response.bytes + [UInt8(ascii: "\n")], to: connection)
            line.removeSubrange(...end)
        }
        connections[connection] = line
    }

    private func send(_ bytes: [UInt8], to connection: CInt) {
        bytes.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = Glibc.send(
                    connection, bytes.baseAddress! + sent, bytes.count - sent, CInt(MSG_NOSIGNAL))
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return }
                sent += count
            }
        }
    }
}

package import Commands
internal import Dispatch
internal import Glibc

/// A connection to a Unix socket that takes JSON lines and answers each with one.
package final class ControlLine: Sendable {
    private let descriptor: CInt
    /// Serialises the calls, which block.
    private let queue = DispatchQueue(label: "control line")

    /// Connects as soon as the other side listens.
    /// - Parameter isAlive: throws if the other side has ended.
    package init(path: String, isAlive: () throws -> Void) async throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8CString)
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else {
            throw Missed("\(path) is too long for a socket")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { target in bytes.withUnsafeBytes { target.copyMemory(from: $0) }
        }
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        try await until("a listener at \(path)") {
            try isAlive()
            return withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                }
            }
        }
    }

    deinit { Glibc.close(descriptor) }

    /// Ends the connection. Later calls of ``ask(_:)`` throw.
    package func close() { shutdown(descriptor, CInt(SHUT_RDWR)) }

    /// Sends a request.
    /// - Returns: the answer.
    /// - Throws: ``Missed`` with the error of the other side, or because the connection has ended.
    @discardableResult
    package func ask(_ request: JSONValue) async throws -> JSONValue {
        let answer = try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in continuation.resume(with: Result { try exchange(request) }) }
        }
        if let error = answer["error"]?.string { throw Missed(error) }
        return answer
    }

    private func exchange(_ request: JSONValue) throws -> JSONValue {
        let line = request.bytes + [UInt8(ascii: "\n")]
        guard send(descriptor, line, line.count, CInt(MSG_NOSIGNAL)) == line.count else {
            throw Missed("the other side of the control line has ended")
        }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while answer.last != UInt8(ascii: "\n") {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Missed("the other side of the control line ended during a request") }
            answer += chunk[..<count]
        }
        return try JSONValue(parsing: answer)
    }
}

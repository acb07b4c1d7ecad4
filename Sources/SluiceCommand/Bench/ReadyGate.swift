internal import Glibc
internal import Host

/// Receives READY=1 of a process, as systemd does.
struct ReadyGate: ~Copyable {
    let path: String
    private let descriptor: CInt

    init(path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        unlink(path)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard descriptor >= 0, bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw ExitError(.cannotCreate, "\(path) cannot be the path of a socket: choose a shorter --directory")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let bound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0 else {
            throw ExitError(.cannotCreate, "\(SystemError("bind", path))")
        }
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    func wait(seconds: Int) throws {
        var buffer = [UInt8](repeating: 0, count: 256)
        let end = BenchClock.now + Double(seconds)
        while BenchClock.now < end {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, 100) > 0 else { continue }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0, String(decoding: buffer[..<count], as: UTF8.self).contains("READY=1") { return }
        }
        throw ExitError(.internalError, "timed out after \(seconds) s waiting for a process to be ready")
    }
}

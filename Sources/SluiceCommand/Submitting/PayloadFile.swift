internal import Commands
internal import Glibc
internal import Host

/// Reads the file of `--payload @file`.
enum PayloadFile {
    /// Bytes. JSON text may be longer than the form that is stored.
    static let limit = 4 * Command.payloadLimit

    static func read(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw ExitError(.input, "\(SystemError("open the payload file", path))")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw ExitError(.input, "\(SystemError("read the payload file", path))")
            }
            if count == 0 { return bytes }
            bytes.append(contentsOf: buffer[..<count])
            guard bytes.count <= limit else {
                throw ExitError(
                    .data, "the payload file \(path) is larger than a payload may be (\(Command.payloadLimit) bytes)")
            }
        }
    }
}

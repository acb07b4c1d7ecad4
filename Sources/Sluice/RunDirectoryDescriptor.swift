internal import Glibc
internal import Store
internal import ZeroMQ

/// The open directory of sockets, so that they can be reached however long its path is.
final class RunDirectoryDescriptor: Sendable {
    private let descriptor: CInt

    init(_ directory: DataDirectory) throws(ZeroMQError) {
        descriptor = open(directory.run.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw ZeroMQError(
                ZeroMQError.Code(rawValue: errno),
                "cannot open \(directory.run.path): \(String(cString: strerror(errno)))")
        }
    }

    deinit {
        close(descriptor)
    }

    func endpoint(_ socket: RunDirectory.Socket) -> Endpoint {
        .ipc(directoryDescriptor: descriptor, name: socket.name)
    }
}

internal import Glibc
internal import Host
internal import Store
internal import ZeroMQ

/// The open directory of sockets, so that they can be reached however long its path is.
final class RunDirectoryDescriptor: Sendable {
    private let descriptor: CInt

    init(_ directory: DataDirectory) throws(ZeroMQError) {
        do throws(SystemError) {
            descriptor = try openDirectory(directory.run.path)
        } catch {
            throw ZeroMQError(ZeroMQError.Code(rawValue: error.code), error.description)
        }
    }

    deinit {
        close(descriptor)
    }

    func endpoint(_ socket: RunDirectory.Socket) -> Endpoint {
        .ipc(directoryDescriptor: descriptor, name: socket.name)
    }
}

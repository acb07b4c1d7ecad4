internal import Glibc
package import Host
internal import Store
package import ZeroMQ

/// An open descriptor of `run/`, through which its sockets are reached however long the path of the directory
/// is.
package final class RunDirectoryDescriptor: Sendable {
    private let descriptor: CInt

    package init(_ directory: DataDirectory) throws(ZeroMQError) {
        do throws(SystemError) {
            descriptor = try openDirectory(directory.run.path)
        } catch {
            throw ZeroMQError(ZeroMQError.Code(rawValue: error.code), error.description)
        }
    }

    deinit {
        close(descriptor)
    }

    package func endpoint(_ socket: RunDirectory.Socket) -> Endpoint {
        .ipc(directoryDescriptor: descriptor, name: socket.name)
    }
}

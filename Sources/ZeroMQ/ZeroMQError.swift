import CZeroMQ
import Glibc

/// An error of a context, a socket or a loop: which call, on what, and what to do.
package struct ZeroMQError: Error, Equatable, CustomStringConvertible {
    /// The error number of libzmq, which extends errno.
    package struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        package let rawValue: CInt

        package init(rawValue: CInt) {
            self.rawValue = rawValue
        }

        /// Another socket is bound there.
        package static let addressInUse = Code(rawValue: EADDRINUSE)
        /// The path of an `ipc` endpoint passes 107 bytes.
        package static let pathTooLong = Code(rawValue: ENAMETOOLONG)
        /// The path of an `ipc` endpoint has a file that is not a socket.
        package static let notASocket = Code(rawValue: ENOTSOCK)
        /// The directory of an `ipc` endpoint does not exist.
        package static let noSuchDirectory = Code(rawValue: ENOENT)
        package static let permissionDenied = Code(rawValue: EACCES)
        /// The message passes `Socket.Options.maximumMessageSize`.
        package static let messageTooLong = Code(rawValue: EMSGSIZE)
        /// The context was terminated. ETERM is an expression in C, which Swift does not import.
        package static let terminated = Code(rawValue: ZMQ_HAUSNUMERO + 53)
        /// The process or the context has no more descriptors or sockets.
        package static let tooManySockets = Code(rawValue: EMFILE)
        package static let invalid = Code(rawValue: EINVAL)

        /// The name of the constant where this module has a case for it, else `errno N`.
        package var description: String {
            switch self {
            case .addressInUse: "EADDRINUSE"
            case .pathTooLong: "ENAMETOOLONG"
            case .notASocket: "ENOTSOCK"
            case .noSuchDirectory: "ENOENT"
            case .permissionDenied: "EACCES"
            case .messageTooLong: "EMSGSIZE"
            case .terminated: "ETERM"
            case .tooManySockets: "EMFILE"
            case .invalid: "EINVAL"
            default: "errno \(rawValue)"
            }
        }
    }

    package let code: Code
    /// One sentence: what happened, to what, what to do.
    package let sentence: String
    package let endpoint: SocketEndpoint?

    package var description: String {
        sentence
    }

    package init(_ code: Code, _ sentence: String, endpoint: SocketEndpoint? = nil) {
        self.code = code
        self.sentence = sentence
        self.endpoint = endpoint
    }

    /// The error that libzmq has just left in this thread's errno.
    static func last(_ attempt: String, endpoint: SocketEndpoint? = nil) -> ZeroMQError {
        from(zmq_errno(), attempt, endpoint: endpoint)
    }

    static func from(_ number: CInt, _ attempt: String, endpoint: SocketEndpoint? = nil) -> ZeroMQError {
        let code = Code(rawValue: number)
        let advice: String
        switch code {
        case .addressInUse: advice = "another process is bound there; stop it, or choose another endpoint"
        case .noSuchDirectory: advice = "its directory does not exist; create it first"
        case .permissionDenied: advice = "permission denied; check owner and mode of its directory"
        case .terminated: advice = "the context was terminated"
        case .tooManySockets: advice = "no more descriptors or sockets; raise the limit of open files"
        default: advice = "\(String(cString: zmq_strerror(number))) (\(code))"
        }
        let place = endpoint.map { " \($0)" } ?? ""
        return ZeroMQError(code, "cannot \(attempt)\(place): \(advice)", endpoint: endpoint)
    }
}

internal import HTTPTypes
internal import Hummingbird
internal import NIOHTTP1

extension Problem {
    /// The problem that an error of a handler is to the client.
    /// - Returns: nil for an error that only the log explains.
    package init?(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let error as ConnectionError: self = error.problem
        case let error as HTTPParserError: self = Self.malformed(error)
        case is CancellationError:
            self.init(
                .serviceUnavailable, "stopping", "The server ended the request before it was done; send it again.",
                fields: [.retryAfter: "1"])
        case let error as any HTTPResponseError:
            self.init(error.status, "refused", "The request was refused: \(error.status.reasonPhrase).")
        default: return nil
        }
    }

    /// Says nothing about the server: the error is in the log.
    package static let failed = Problem(
        .internalServerError, "internal-error",
        "The server could not answer; its log has the reason under the id of this request.")

    static let tooManyConnections = Problem(
        .serviceUnavailable, "too-many-connections", "The server has its maximum of connections; try again later.",
        fields: [.retryAfter: "5"])

    static let tooManyConnectionsOfAddress = Problem(
        .serviceUnavailable, "too-many-connections",
        "The address of the client has half of the server's connections, which is its maximum; close some, or try again "
            + "later.",
        fields: [.retryAfter: "5"])

    static func malformed(_ error: HTTPParserError) -> Problem {
        switch error {
        case .headerOverflow:
            Problem(
                .requestHeaderFieldsTooLarge, "fields-too-large",
                "The target and the fields of the request are too long; send shorter ones.")
        case .invalidEOFState, .closedConnection:
            Problem(.badRequest, "request-cut", "The connection ended before the request did; send it again.")
        default:
            Problem(.badRequest, "bad-request", "The request is not valid HTTP/1.1; send it as RFC 9112 defines it.")
        }
    }
}

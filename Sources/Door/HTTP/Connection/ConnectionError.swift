internal import HTTPTypes

/// Why a connection, or the body of a request, ended early.
enum ConnectionError: Error, Sendable, Equatable {
    /// The fields of a request did not arrive within the deadline.
    case slowHeader
    /// A body came below the minimum rate.
    case slowBody
    /// The sizes and extensions of chunks have many times the bytes of their content.
    case chunkOverhead
    /// The input ended within a body.
    case cut
    /// A handler reads a body that another task reads, or that belongs to an earlier request.
    case misusedBody
    /// A handler wrote more or fewer bytes than it announced.
    case wrongLength

    var problem: Problem {
        switch self {
        case .slowHeader:
            Problem(.requestTimeout, "slow-request", "The fields of the request did not arrive in time; send it again.")
        case .slowBody:
            Problem(
                .requestTimeout, "slow-body",
                "The body of the request arrived below the minimum rate of the server; send it again.")
        case .chunkOverhead:
            Problem(
                .badRequest, "bad-framing",
                "The chunks of the body have far more bytes of sizes and extensions than of content; send larger chunks, "
                    + "without extensions.")
        case .cut: Problem(.badRequest, "request-cut", "The connection ended before the request did; send it again.")
        case .misusedBody, .wrongLength: .failed
        }
    }
}

package import Commands
internal import FlowText
package import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
package import Operations
package import Queue
internal import Uploads

/// An error response: a problem document (RFC 9457).
package struct Problem: Error, Sendable, Equatable {
    package var status: HTTPResponse.Status
    /// The last part of the URL of its type, such as `offset-mismatch`. The door serves a page of each.
    package var type: String
    /// A sentence or two: the event, its object, and the remedy.
    package var detail: String
    /// Fields of the response in addition to those of every problem.
    package var fields: HTTPFields
    /// Further members of the document.
    package var members: [JSONValue.Member]

    package init(
        _ status: HTTPResponse.Status, _ type: String, _ detail: String, fields: HTTPFields = [:],
        members: [JSONValue.Member] = []
    ) {
        self.status = status
        self.type = type
        self.detail = detail
        self.fields = fields
        self.members = members
    }
}

extension Problem {
    /// The response that carries the document.
    /// - Parameters:
    ///   - basePath: as in ``DoorServerConfiguration/basePath``.
    ///   - instance: the id of the request.
    package func response(basePath: String, instance: String) -> Response {
        var response = Response(
            status: status, headers: [.contentType: "application/problem+json"],
            body: Response.Body(byteBuffer: ByteBuffer(bytes: document(basePath: basePath, instance: instance))))
        for field in fields { response.headers[field.name] = nil }
        response.headers.append(contentsOf: fields)
        return response
    }

    func document(basePath: String, instance: String) -> [UInt8] { json(basePath: basePath, instance: instance).bytes }

    /// The document (RFC 9457).
    package func json(basePath: String, instance: String) -> JSONValue {
        .object(
            [
                .init("type", .string(uri(basePath: basePath))), .init("title", .string(title)),
                .init("status", .integer(Int64(status.code))), .init("detail", .string(detail)),
                .init("instance", .string(instance)),
            ] + members)
    }

    /// The URI of the type: that of IANA's registry, where it has the type, else a page of the door.
    package func uri(basePath: String) -> String {
        Self.registeredTypes.contains(type)
            ? "https://iana.org/assignments/http-problem-types#\(type)" : "\(basePath)/problems/\(type)"
    }

    /// Those of Resumable Uploads for HTTP. Its later drafts have dropped `completed-upload`, which earlier clients know.
    package static let registeredTypes: Set<String> = [
        "mismatching-upload-offset", "inconsistent-upload-length", "completed-upload",
    ]

    /// The type as words: `Offset mismatch`.
    package var title: String {
        let words = type.split(separator: "-").joined(separator: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }
}

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

extension Problem {
    /// The problem that an error is to a client. The messages of the store name files of the server, so only those about a
    /// command or a value are shown.
    package init(_ error: SluiceError) {
        switch error.code {
        case .tryAgain: self = .storeUnavailable
        case .noSuchCommand: self = error.id.map { .noCommand($0) } ?? .noSuchCommand
        default:
            let answer = error.code.answer
            guard let problem = answer.problem else {
                self = .failed
                return
            }
            let isFull = error.code == .cannotWrite
            self.init(
                HTTPResponse.Status(code: answer.status), problem,
                isFull
                    ? "The disk of the server took no more data; make room there, and send the request again."
                    : error.message.sentence,
                members: error.code == .conflict
                    ? error.id.map { [.init("id", .string($0.description))] } ?? [] : [])
        }
    }

    package init(_ error: PayloadError) { self.init(SluiceError(error)) }

    package static let storeUnavailable = Problem(
        .serviceUnavailable, "store-unavailable", "The store is busy; send the request again in a moment.",
        fields: [.retryAfter: "1"])

    private static let noSuchCommand = Problem(
        .notFound, "command-not-found", "There is no command with that id; it may have been removed after its end.")

    package static func noCommand(_ id: CommandID) -> Problem {
        Problem(
            .notFound, "command-not-found",
            "There is no command \(id); it never was, or was removed some time after its end.")
    }
}

extension String {
    private static let maxSentence = 900

    /// With a capital at the start and a full stop at the end, unless it ends as a sentence already. The middle of a text
    /// of more than 900 characters is left out: messages quote what a client sent, which may be a megabyte.
    package var sentence: String {
        let whole = prefix(1).uppercased() + dropFirst()
        let isLong = whole.unicodeScalars.count > Self.maxSentence
        return (isLong ? "\(whole.scalars(first: 600)) … \(whole.scalars(last: 300))" : whole).withFullStop
    }

    private func scalars(first count: Int) -> String { String(unicodeScalars.prefix(count)) }

    private func scalars(last count: Int) -> String { String(unicodeScalars.suffix(count)) }
}

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

package import Commands
package import NIOCore
package import NIOHTTP1

/// The outcome of one HTTP request.
package struct HTTPRecord: Sendable {
    /// When the request began. The record is created at that time.
    package var startedAt = ContinuousClock.now
    /// The final response's head; nil where none came.
    package var head: HTTPResponseHead?
    /// The start of its body, as far as the exchange stores it.
    package var body = ByteBuffer()
    /// Bytes of the body that have arrived, without their content coding where ``decoded`` names it.
    package var bodyBytes = 0
    /// Bytes of the body as they came.
    package var receivedBytes = 0
    /// The content coding that was taken off the body; nil: the body is as it came.
    package var decoded: String?
    /// Why the content coding could not be taken off. Then ``body`` has what came before, or the bytes as they came.
    package var codingFailure: CommandFailure?
    /// More arrived than is needed, and the rest was not read.
    package var hasEnough = false
    /// The response is complete.
    package var isComplete = false
    /// A byte may have left.
    package var mayHaveSent = false
    /// The whole body was handed to the connection.
    package var sentAll = false
    /// Bytes of the body that were handed to the connection.
    package var sentBytes: Int64 = 0
    /// The connection had carried another request before.
    package var usedKeptConnection = false
    /// The connection was a kept one and ended before the first byte of a response.
    package var keptConnectionEnded = false
    /// The peer had acknowledged more than ``firstBytes`` of the body, as far as the last measurement shows.
    package var wasUnderWay = false
    /// Bytes of a body that a kernel takes for a server that has closed the connection and does not read them: 64 KiB.
    package static let firstBytes: Int64 = 64 << 10
    /// Why the request ended early; nil where it did not.
    package var error: (any Error)?

    package init() {}

    /// Whether a kept connection was closed by the peer or given up before more of the body had arrived than its kernel
    /// takes. Most likely the server has seen nothing of the request, and to send it again costs little.
    package var failedOnStaleConnection: Bool { lostKeptConnection && !wasUnderWay }

    /// Whether a kept connection was closed by the peer or given up. The server may have seen a part of the
    /// request.
    package var lostKeptConnection: Bool { head == nil && keptConnectionEnded && error is HTTPError }

    /// Whether the connection had ended before the first byte of the request.
    package var wasNeverSeen: Bool { head == nil && !mayHaveSent && error as? HTTPError == .closed }

    /// The status of the final response; nil where none came.
    package var status: Int? { head.map { Int($0.status.code) } }

    /// The first header field of that name in the final response.
    package func header(_ name: String) -> String? { head?.headers.first(name: name) }
}

extension HTTPRecord {
    /// The values of all header fields of that name in the final response.
    package func fields(_ name: String) -> [String] { head?.headers[name] ?? [] }

    /// The members of a comma-separated list (RFC 9110, section 5.6.1), in lower case.
    package func list(_ name: String) -> [String] {
        fields(name).flatMap { $0.split(separator: ",") }.map { $0.trimmed.lowercased() }
    }

    /// A count of bytes; nil where the field is missing or is not one.
    package func count(_ name: String) -> Int64? {
        guard let text = header(name)?.trimmed, !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(text)
    }
}

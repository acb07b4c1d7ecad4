package import HTTPClient
package import NIOHTTP1
package import Operations

/// Sends requests to destinations.
package protocol RequestTransport: Sendable {
    /// Sends one request and waits for its end, and for the end of its reader. Cancelling the task resets the
    /// connection.
    /// - Parameter fields: the header of the request.
    func send(
        _ parts: RequestSender.Parts, _ fields: HTTPHeaders, _ options: RequestOptions, for execution: CommandExecution
    ) async -> HTTPRecord
}

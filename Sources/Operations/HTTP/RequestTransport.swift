internal import HTTPClient
internal import NIOHTTP1
internal import Work

/// Sends requests to destinations.
protocol RequestTransport: Sendable {
    /// Sends one request and waits for its end, and for the end of its reader. Cancelling the task resets the
    /// connection.
    /// - Parameter fields: the header of the request.
    func send(
        _ parts: RequestSender.Parts, _ fields: HTTPHeaders, _ options: RequestOptions, for execution: CommandExecution
    ) async -> HTTPRecord
}

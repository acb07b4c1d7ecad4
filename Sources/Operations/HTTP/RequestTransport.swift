internal import HTTPClient
internal import NIOHTTP1
internal import Work

/// Sends requests to destinations.
protocol RequestTransport: Sendable {
    /// Sends one request and waits for its end. Cancelling the task resets the connection.
    /// - Parameter range: the bytes of the file that are the body.
    func send(
        _ method: HTTPMethod, _ url: UploadURL, headers: HTTPHeaders, body: HTTPTransfer.Body, range: Range<Int64>,
        _ options: RequestOptions, for execution: CommandExecution
    ) async -> HTTPRecord
}

internal import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization
internal import Work

/// Sends the requests of all operations of a process over one HTTP client.
final class HTTPTransport: RequestTransport {
    let configuration: HTTPConfiguration
    private let client: HTTPClient
    private let active = Mutex<NIOLoopBoundBox<Int>?>(nil)

    /// A body below this size is sent at once: that costs less than the wait for an interim response.
    private static let minExpectedBody: Int64 = 64 << 10

    init(configuration: HTTPConfiguration) {
        self.configuration = configuration
        client = HTTPClient(configuration: configuration.client)
    }

    /// Sends one request and waits for its end. Cancelling the task resets the connection.
    /// - Parameter range: the bytes of the file that are the body.
    func send(
        _ method: HTTPMethod, _ url: UploadURL, headers: HTTPHeaders, body: HTTPTransfer.Body, range: Range<Int64>,
        _ options: RequestOptions, for execution: CommandExecution
    ) async -> HTTPRecord {
        var record = HTTPRecord()
        guard let origin = HTTPOrigin(url.destination) else {
            record.error = HTTPError.local("\(url.displayText) is not a URL of HTTP")
            return record
        }
        var request = HTTPRequest(
            method, origin, target: url.path + url.query, headers: headers,
            bodyLength: range.upperBound - range.lowerBound)
        request.options.maxIdle =
            options.usesNewConnection
            ? .zero
            : execution.command.idempotent ? configuration.client.keepAlive : configuration.nonIdempotentKeepAlive
        request.options.expectsContinue =
            request.bodyLength >= Self.minExpectedBody
            && (options.expectsContinue || configuration.expectContinue.contains(url.destination))
        request.options.responseTimeout = configuration.responseTimeout
        if [.GET, .HEAD, .OPTIONS].contains(method) { request.options.bodyTimeout = nil }
        return await send(request, body, range, execution)
    }

    private func send(
        _ request: HTTPRequest, _ body: HTTPTransfer.Body, _ range: Range<Int64>, _ execution: CommandExecution
    ) async -> HTTPRecord {
        let loop = client.loop
        let active = self.active.withLock { active in
            let box = active ?? NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: loop)
            active = box
            return box
        }
        let pending = Mutex<HTTPCall?>(nil)
        var record = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let transfer = HTTPTransfer(
                    execution: execution, body: body, range: range, active: active, loop: loop
                ) { continuation.resume(returning: $0) }
                let call = client.call(request, transfer)
                pending.withLock { $0 = call }
                call.start()
                // The task may have been cancelled before there was a call.
                if Task.isCancelled { call.cancel() }
            }
        } onCancel: {
            pending.withLock { $0 }?.cancel()
        }
        if record.error as? HTTPError == .stopped, Task.isCancelled { record.error = CancellationError() }
        return record
    }
}

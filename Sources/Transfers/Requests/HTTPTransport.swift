internal import Commands
package import HTTPClient
internal import NIOCore
package import NIOHTTP1
package import Operations
internal import Synchronization

/// Sends the requests of all operations of a process over one HTTP client, and those of confined commands over another, so
/// that these never use a connection to an address that ``Confinement`` does not permit.
package final class HTTPTransport: RequestTransport {
    let configuration: HTTPConfiguration
    private let open: CountedClient
    private let confined: CountedClient

    /// A body below this size is sent at once: that costs less than the wait for an interim response.
    private static let minExpectedBody: Int64 = 64 << 10

    package init(configuration: HTTPConfiguration) {
        self.configuration = configuration
        open = CountedClient(configuration.client)
        var client = configuration.client
        client.addressObjection = { [confinement = configuration.confinement] host, address in
            guard let address = IPNetwork(address) else { return "\(host) is not a name of the internet" }
            return confinement.objection(toHost: host, at: address)
        }
        confined = CountedClient(client)
    }

    package func send(
        _ parts: RequestSender.Parts, _ fields: HTTPHeaders, _ options: RequestOptions, for execution: CommandExecution
    ) async -> HTTPRecord {
        let (method, url) = (parts.method, parts.url)
        var record = HTTPRecord()
        if options.isConfined, let objection = configuration.confinement.objection(to: url.destination) {
            record.error = HTTPError.notPermitted(objection)
            return record
        }
        let side = options.isConfined ? confined : open
        guard url.scheme != .file else {
            return await FileTransport(loop: side.client.loop).send(parts, fields, for: execution)
        }
        guard let origin = HTTPOrigin(url.destination) else {
            record.error = HTTPError.local("\(url.displayText) is not a URL of HTTP")
            return record
        }
        var request = HTTPRequest(
            method, origin, target: url.path + url.query, headers: fields, bodyLength: Int64(parts.range.count))
        request.options.maxIdle =
            options.usesNewConnection
            ? .zero
            : execution.command.idempotent ? configuration.client.keepAlive : configuration.nonIdempotentKeepAlive
        request.options.expectsContinue =
            request.bodyLength >= Self.minExpectedBody
            && (options.expectsContinue || configuration.expectContinue.contains(url.destination))
        request.options.responseTimeout = configuration.responseTimeout
        if parts.needsAnswer || [.GET, .HEAD, .OPTIONS].contains(method) { request.options.bodyTimeout = nil }
        return await send(request, parts, by: side, for: execution)
    }

    private func send(
        _ request: HTTPRequest, _ parts: RequestSender.Parts, by side: CountedClient, for execution: CommandExecution
    ) async -> HTTPRecord {
        let (client, active) = (side.client, side.active)
        let loop = client.loop
        let reading = parts.reader.map { ResponseReading(loop: loop, reader: $0) }
        let pending = Mutex<HTTPCall?>(nil)
        var record = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let transfer = HTTPTransfer(
                    execution: execution, body: parts.body, range: parts.range, reading: reading, active: active,
                    loop: loop
                ) { continuation.resume(returning: $0) }
                transfer.answerLimit = parts.answerLimit
                if parts.decodesAnswer, parts.method != .HEAD {
                    transfer.decodedRequest = "\(parts.method.rawValue) \(parts.url.displayText)"
                }
                transfer.isQuery = parts.needsAnswer || [.GET, .HEAD, .OPTIONS].contains(parts.method)
                let call = client.call(request, transfer)
                pending.withLock { $0 = call }
                call.start()
                // The task may have been cancelled before there was a call.
                if Task.isCancelled { call.cancel() }
            }
        } onCancel: {
            pending.withLock { $0 }?.cancel()
        }
        if let error = await reading?.ended() { record.error = error }
        if record.error as? HTTPError == .stopped, Task.isCancelled { record.error = CancellationError() }
        return record
    }
}

/// Sends requests to destinations.
package protocol RequestTransport: Sendable {
    /// Sends one request and waits for its end, and for the end of its reader. Cancelling the task resets the
    /// connection.
    /// - Parameter fields: the header of the request.
    func send(
        _ parts: RequestSender.Parts, _ fields: HTTPHeaders, _ options: RequestOptions, for execution: CommandExecution
    ) async -> HTTPRecord
}

/// How a request uses its connection.
package struct RequestOptions: Sendable, Equatable {
    /// It needs a connection that has not carried another request.
    var usesNewConnection = false
    /// It sends `Expect: 100-continue` before its body.
    var expectsContinue = false
    /// It goes only where ``Confinement`` lets it.
    var isConfined = false
}

/// A client, with the number of its transfers on a connection.
final class CountedClient: Sendable {
    let client: HTTPClient
    private let box = Mutex<NIOLoopBoundBox<Int>?>(nil)

    init(_ configuration: HTTPClientConfiguration) { client = HTTPClient(configuration: configuration) }

    /// To be used on the event loop of the client only, which it starts.
    var active: NIOLoopBoundBox<Int> {
        box.withLock { box in
            let active = box ?? NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: client.loop)
            box = active
            return active
        }
    }
}

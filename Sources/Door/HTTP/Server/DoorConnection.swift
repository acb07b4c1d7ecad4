internal import Commands
internal import HTTPTypes
internal import Host
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// One connection: reads its requests and writes their responses, one after the other.
struct DoorConnection: Sendable {
    private enum Next {
        case request
        /// Ends the output, and waits a moment for the client to do the same.
        case finish
        case close
    }

    let door: DoorChannel
    let parts: NIOAsyncChannel<HTTPServerRequestPart, ResponseOutput.Part>
    let progress: BodyProgress
    let presence: ClientPresence
    /// Whether it is one of the last connections, which only essential endpoints answer.
    let isReserve: Bool

    func run() async throws {
        let channel = parts.channel
        try await withTaskCancellationHandler {
            try await parts.executeThenClose { inbound, outbound in
                let input = ConnectionInput(inbound, progress: progress)
                var next = Next.request
                while case .request = next {
                    do {
                        guard let head = try await input.nextHead() else { break }
                        next = try await answer(head, input, outbound)
                    } catch let error as HTTPParserError {
                        try await refuse(Problem.malformed(error), outbound)
                        break
                    } catch ConnectionError.slowHeader {
                        try await refuse(ConnectionError.slowHeader.problem, outbound)
                        break
                    }
                }
                if case .close = next { return }
                outbound.finish()
                try await closed(within: door.configuration.drainTimeout)
            }
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    private func closed(within timeout: Duration) async throws {
        let channel = parts.channel
        let timeout = TimeAmount.nanoseconds(timeout.nanoseconds)
        let close = channel.eventLoop.scheduleTask(in: timeout) { channel.close(promise: nil) }
        defer { close.cancel() }
        try await channel.closeFuture.get()
    }

    /// Answers a request that could not be read.
    private func refuse(_ problem: Problem, _ outbound: ResponseOutput.Writer, isHead: Bool = false) async throws {
        door.statistics.countBadRequest(problem.type)
        let output = ResponseOutput(outbound, takesInterim: false)
        let id = "\(CommandID())"
        var response = problem.response(basePath: door.configuration.basePath, instance: id)
        complete(&response, id: id, closes: true)
        try await output.send(response, isHead: isHead, isHTTP10: false)
        door.observe(CompletedRequest(id: id, status: problem.status, duration: .zero, isComplete: true))
    }

    private func answer(
        _ wireHead: HTTPRequestHead, _ input: ConnectionInput, _ outbound: ResponseOutput.Writer
    ) async throws -> Next {
        door.statistics.activeRequests.wrappingAdd(1, ordering: .relaxed)
        defer { door.statistics.activeRequests.wrappingSubtract(1, ordering: .relaxed) }
        let began = MonotonicTime.now
        let head: RequestHead
        let isHTTP10 = wireHead.version != .http1_1
        do {
            head = try RequestHead(wireHead)
            if let host = head.host {
                try door.hostCheck.check(host, localAddress: parts.channel.localAddress?.ipAddress)
            }
        } catch {
            try await refuse(error, outbound, isHead: wireHead.method == .HEAD)
            return .finish
        }
        let output = ResponseOutput(outbound, takesInterim: !isHTTP10)
        let number = input.beginBody(head)
        if !head.hasBody { _ = try await input.nextBytes(of: number) {} }
        let request = makeRequest(head, input, number, output)
        let answer = await door.running.run { [door, isReserve] in
            await door.respond(to: request, head: head, isReserve: isReserve)
        }
        request.memory.end()
        var response = answer.response

        // Upgraded protocols are not offered, and the parser reads nothing after a request that asks for one.
        var closes = isHTTP10 || !wireHead.isKeepAlive || wireHead.headers.contains(name: "upgrade")
        closes = closes || isReserve || door.running.isDraining || input.failure != nil
        if let error = input.failure as? HTTPParserError {
            door.statistics.countBadRequest(Problem.malformed(error).type)
        }
        // A short rest of a body is cheaper to read than a new connection.
        let isShort = !input.awaitsContinue && (head.length ?? .max) <= 64 << 10
        if input.hasUnreadBody, !isShort { closes = true }
        complete(&response, id: request.id, closes: closes)
        let isComplete = await send(response, output, isHead: wireHead.method == .HEAD, isHTTP10: isHTTP10)
        door.observe(
            CompletedRequest(
                id: request.id, method: request.method, route: answer.route, status: response.status,
                duration: .now - began, client: request.client, principal: answer.principal, isComplete: isComplete))
        guard isComplete else { return .close }
        guard input.hasUnreadBody else { return closes || input.failure != nil ? .finish : .request }
        let isDrained = await drain(input)
        return closes || !isDrained ? .finish : .request
    }

    private func makeRequest(
        _ head: RequestHead, _ input: ConnectionInput, _ number: Int, _ output: ResponseOutput
    ) -> DoorRequest {
        let bytes = RequestBytes(input: input, request: number) { try await output.sendInterim(.continue, [:]) }
        let peer = parts.channel.remoteAddress?.ipAddress
        var request = DoorRequest(
            method: head.method, path: head.target.path, query: head.target.query, fields: head.fields,
            body: RequestBody(asyncSequence: bytes), id: "\(CommandID())",
            client: door.forwarded.client(peer: peer, fields: head.fields),
            baseURL: door.baseURL(host: head.host, peer: peer, fields: head.fields),
            sendInterim: { try await output.sendInterim($0, $1) })
        request.memory = BodyMemory.Share(of: door.bodyMemory)
        request.trailers = { input.trailers(of: number) }
        let channel = parts.channel
        request.connection.setSendBuffer = { bytes in
            try await channel.setOption(.socketOption(.so_sndbuf), value: bytes).get()
        }
        request.connection.close = { channel.close(promise: nil) }
        request.connection.whenGone = { [presence] in presence.whenGone($0) }
        return request
    }

    private func complete(_ response: inout Response, id: String, closes: Bool) {
        StandardFields.add(to: &response.headers, id: id, seconds: Timestamp.now.milliseconds / 1000)
        response.headers[.connection] = closes ? "close" : nil
    }

    /// - Returns: false where the response is not complete: only the end of the connection tells the client.
    private func send(_ response: Response, _ output: ResponseOutput, isHead: Bool, isHTTP10: Bool) async -> Bool {
        let send: @Sendable () async -> Bool = { [door] in
            do {
                try await output.send(response, isHead: isHead, isHTTP10: isHTTP10)
                return true
            } catch {
                door.logger.debug("A response ended early: \(error)")
                return false
            }
        }
        // A stream may last as long as its client, so a shutdown has to end it.
        return response.body.contentLength == nil ? await door.running.run(send) : await send()
    }

    private func drain(_ input: ConnectionInput) async -> Bool {
        let channel = parts.channel
        let timeout = TimeAmount.nanoseconds(door.configuration.drainTimeout.nanoseconds)
        let close = channel.eventLoop.scheduleTask(in: timeout) { channel.close(promise: nil) }
        defer { close.cancel() }
        return await input.drain(limit: door.configuration.maxDrainedBytes)
    }
}

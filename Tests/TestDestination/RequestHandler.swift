import CLinux
import Commands
import NIOCore
import NIOHTTP1

/// One connection: its requests, one after the other.
final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let place: Place
    private var entry: Ledger.Entry?
    private var file: Files.File?
    private var response: Response?
    /// Whether the response is out while the request still comes.
    private var hasAnswered = false

    init(place: Place) { self.place = place }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head, context)
        case .body(let bytes):
            entry?.add(bytes.readableBytes)
            file?.write(bytes)
        case .end: end(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let entry = Ledger.Entry(
            method: head.method.rawValue, path: head.uri, clientPort: context.remoteAddress?.port ?? 0,
            expected: head.headers.first(name: "content-length").flatMap { Int64($0) })
        self.entry = entry
        place.ledger.begin(entry)
        place.active += 1
        hasAnswered = false
        file = nil
        if let most = place.behaviour.mostRequests, place.active > most {
            answer(Response(.serviceUnavailable, ["retry-after": "1"], closes: true), context)
            return
        }
        let decision = place.files.decide(head, hashes: place.behaviour.hashes)
        file = decision.file
        if let file {
            // Whoever wrote it before, over a connection that may be half dead, writes no more.
            if let other = file.writer, other !== context.channel { Place.reset(other) }
            file.writer = context.channel
        }
        response = decision.response
        if decision.response.closes {
            answer(decision.response, context)
        } else if head.headers.first(name: "expect")?.lowercased() == "100-continue" {
            context.writeAndFlush(wrapOutboundOut(.head(.init(version: .http1_1, status: .continue))), promise: nil)
        }
    }

    private func end(_ context: ChannelHandlerContext) {
        if hasAnswered {
            context.close(promise: nil)
            return
        }
        guard let response else { return }
        let delay = place.behaviour.firstByteDelay
        guard delay > 0 else { return answer(response, context) }
        let expected = entry
        context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(Int64(delay * 1e9))) {
            guard self.entry === expected else { return }
            self.answer(response, context)
        }
    }

    private func answer(_ response: Response, _ context: ChannelHandlerContext) {
        var headers = HTTPHeaders(response.headers.map { ($0.key, $0.value) })
        if !headers.contains(name: "content-length") { headers.add(name: "content-length", value: "0") }
        if response.closes { headers.add(name: "connection", value: "close") }
        context.write(
            wrapOutboundOut(.head(.init(version: .http1_1, status: response.status, headers: headers))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        self.response = nil
        finish(response.status)
        if response.closes {
            hasAnswered = true
            // A sender that goes on in spite of the answer is cut off.
            context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { context.close(promise: nil) }
        }
    }

    private func finish(_ status: HTTPResponseStatus?) {
        guard let entry else { return }
        entry.status = status.map { Int($0.code) }
        entry.end = clinux_monotonic()
        self.entry = nil
        file?.writer = nil
        file = nil
        place.active -= 1
    }
}

/// What a request is answered with.
struct Response {
    var status: HTTPResponseStatus
    var headers: [String: String]
    /// At once, without waiting for the body; then the connection ends.
    var closes: Bool

    init(_ status: HTTPResponseStatus, _ headers: [String: String] = [:], closes: Bool = false) {
        self.status = status
        self.headers = headers
        self.closes = closes
    }
}

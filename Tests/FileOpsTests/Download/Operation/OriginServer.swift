import Foundation
import HTTPClient
import NIOCore
import NIOPosix
import Synchronization

@testable import FileOps
@testable import Transfers

/// A ``SimulatedOrigin`` on a port of 127.0.0.1.
final class OriginServer: Sendable {
    private let origin: Mutex<SimulatedOrigin>
    private let channel = Mutex<(any Channel)?>(nil)

    init(_ origin: SimulatedOrigin) { self.origin = Mutex(origin) }

    /// Runs a test with a server.
    static func with(
        _ version: SimulatedVersion, _ body: (OriginServer) async throws -> Void
    ) async throws {
        let server = OriginServer(SimulatedOrigin(version))
        try await server.start()
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private func start() async throws {
        let bound = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(OriginConnection(self))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        channel.withLock { $0 = bound }
    }

    private func stop() async { try? await channel.withLock { $0 }?.close().get() }

    var url: String { "http://127.0.0.1:\(channel.withLock { $0 }?.localAddress?.port ?? 0)/in/a.mp4" }

    /// Reads or changes the origin.
    @discardableResult
    func use<Value: Sendable>(_ body: (inout SimulatedOrigin) -> Value) -> Value { origin.withLock { body(&$0) } }

    /// The bytes of the answer to the head of a request.
    fileprivate func answer(_ head: String) -> (bytes: [UInt8], closes: Bool) {
        let fields = HeaderFields(
            head.split(separator: "\r\n").dropFirst().compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                return parts.count == 2 ? (String(parts[0]), parts[1].trimmed) : nil
            })
        let request: DownloadRequest
        if head.hasPrefix("HEAD ") {
            request = .head
        } else if let start = fields.first("range").flatMap({ Int64($0.dropFirst(6).dropLast()) }) {
            request = .range(from: start, ifRange: fields.first("if-range"))
        } else {
            let condition = DownloadValidators(
                tag: fields.first("if-none-match"), lastModified: fields.first("if-modified-since"))
            request = .whole(condition: condition.isEmpty ? nil : condition)
        }
        let answer = use { $0.answer(request) }
        var text = "HTTP/1.1 \(answer.head.status) Status\r\n"
        for field in answer.head.fields.fields { text += "\(field.name): \(field.value)\r\n" }
        let isChunked = answer.head.fields.first("transfer-encoding") != nil
        if answer.body.isEmpty, answer.head.length == nil, !isChunked { text += "Content-Length: 0\r\n" }
        var bytes = Array((text + "\r\n").utf8)
        if isChunked {
            bytes += Array("\(String(answer.body.count, radix: 16))\r\n".utf8) + answer.body + Array("\r\n".utf8)
            if answer.endsAsMarked { bytes += Array("0\r\n\r\n".utf8) }
        } else {
            bytes += answer.body
        }
        return (bytes, !answer.endsAsMarked || answer.head.length == nil && !isChunked && !answer.body.isEmpty)
    }
}

/// Collects heads of requests without bodies, and answers them.
private final class OriginConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let server: OriginServer
    private var received = ""

    init(_ server: OriginServer) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += String(buffer: unwrapInboundIn(data))
        while let end = received.range(of: "\r\n\r\n") {
            let (bytes, closes) = server.answer(String(received[..<end.lowerBound]))
            received = String(received[end.upperBound...])
            let written = context.channel.writeAndFlush(ByteBuffer(bytes: bytes))
            if closes {
                let channel = context.channel
                written.whenComplete { _ in channel.close(promise: nil) }
            }
        }
    }
}

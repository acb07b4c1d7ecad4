import Commands
import NIOCore

/// Answers the requests on CONTROL.sock; see ``DestinationTool``.
final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let destination: Destination
    private var pending = ByteBuffer()
    /// Keeps the answers of one connection in the order of the requests.
    private var last: Task<Void, Never>?

    init(destination: Destination) { self.destination = destination }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        pending.writeImmutableBuffer(unwrapInboundIn(data))
        while let end = pending.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
            guard let line = pending.readBytes(length: end - pending.readerIndex + 1) else { return }
            let (before, channel) = (last, context.channel)
            last = Task { [destination] in
                await before?.value
                var answer: [UInt8]
                do {
                    answer = try await destination.answer(try JSONValue(parsing: Array(line.dropLast())))
                } catch {
                    answer = JSONValue.object([.init("error", .string("\(error)"))]).bytes
                }
                channel.writeAndFlush(ByteBuffer(bytes: answer + [UInt8(ascii: "\n")]), promise: nil)
            }
        }
    }
}

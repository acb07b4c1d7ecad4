import CLinux
import Commands
import NIOCore

/// Answers what CONTROL.sock is asked; see ``DestinationTool``.
final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let place: Place
    private var pending = ByteBuffer()

    init(place: Place) { self.place = place }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        pending.writeImmutableBuffer(unwrapInboundIn(data))
        while let end = pending.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
            let line = pending.readBytes(length: end - pending.readerIndex + 1)!.dropLast()
            do {
                try answer(JSONValue(parsing: line), context)
            } catch {
                send(JSONValue.object([.init("error", .string("\(error)"))]).bytes, context)
            }
        }
    }

    private func answer(_ request: JSONValue, _ context: ChannelHandlerContext) throws {
        var json = JSONWriter(capacity: 1 << 16)
        json.beginObject()
        json.member("at", clinux_monotonic())
        if let change = request["change"] {
            let done = try place.change(change, on: context.eventLoop)
            json.endObject()
            let bytes = json.bytes
            done.assumeIsolated().whenComplete { result in
                switch result {
                case .success: self.send(bytes, context)
                case .failure(let error):
                    self.send(JSONValue.object([.init("error", .string("\(error)"))]).bytes, context)
                }
            }
            return
        }
        switch request["ask"]?.string {
        case "statistics":
            json.member("step", Ledger.step)
            json.member("active", place.active)
            place.ledger.write(since: request["since"]?.integer ?? 0, to: &json)
        case "files": json.member("files", place.files.json)
        case nil where request["forget"]?.bool == true:
            place.ledger.forget()
            place.files.forget()
        default: throw Refusal("ask for “statistics” or “files”, change a behaviour, or forget")
        }
        json.endObject()
        send(json.bytes, context)
    }

    private func send(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        var buffer = context.channel.allocator.buffer(capacity: bytes.count + 1)
        buffer.writeBytes(bytes)
        buffer.writeInteger(UInt8(ascii: "\n"))
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }
}

internal import NIOCore
internal import Synchronization

/// Parts of the state, and the buffers that send them: each is written once for all streams with the same filter.
final class ViewFrame: Sendable {
    /// Bytes of a frame.
    static let maxBytes = 8000

    let number: Int
    private let parts: [(part: ViewPart, bytes: [UInt8])]
    private let written = Mutex<[Set<ViewPart>: [ByteBuffer]]>([:])

    init(number: Int, _ parts: [(part: ViewPart, bytes: [UInt8])]) {
        self.number = number
        self.parts = parts
    }

    /// - Parameter filter: the parts that a stream wants.
    func buffers(_ filter: Set<ViewPart>) -> [ByteBuffer] {
        written.withLock { written in
            if let buffers = written[filter] { return buffers }
            let buffers = write(parts.filter { filter.contains($0.part) })
            written[filter] = buffers
            return buffers
        }
    }

    static func size(_ part: ViewPart, _ bytes: [UInt8]) -> Int { part.rawValue.utf8.count + bytes.count + 4 }

    private static let head = "event: view\ndata: {"
    private static let tail = "}\n\n"

    private func write(_ parts: [(part: ViewPart, bytes: [UInt8])]) -> [ByteBuffer] {
        var buffers: [ByteBuffer] = []
        var buffer = ByteBuffer()
        for (part, bytes) in parts {
            if buffer.readableBytes > 0, buffer.readableBytes + Self.size(part, bytes) > Self.maxBytes {
                buffer.writeString(Self.tail)
                buffers.append(buffer)
                buffer = ByteBuffer()
            }
            buffer.writeString(buffer.readableBytes == 0 ? Self.head : ",")
            buffer.writeString("\"\(part.rawValue)\":")
            buffer.writeBytes(bytes)
        }
        guard buffer.readableBytes > 0 else { return buffers }
        buffer.writeString(Self.tail)
        return buffers + [buffer]
    }
}

internal import NIOCore
internal import Synchronization

/// The present state for the streams `view`. A stream that has the last frame gets the changes; one that missed a frame
/// gets the whole state, so that a slow client costs no memory.
final class ViewHub: Sendable {
    private struct State {
        var parts: [ViewPart: [UInt8]] = [:]
        /// Changed, and not sent yet; the part that waits longest first.
        var waiting: [ViewPart] = []
        var changes = ViewFrame(number: 0, [])
        /// All parts at the number of ``changes``.
        var whole: ViewFrame?
    }

    private let state = Mutex(State())

    /// Makes a frame of what has changed, of at most ``ViewFrame/maxBytes``; the rest is in the next one.
    /// - Returns: whether there is a new frame.
    func publish(_ parts: [ViewPart: [UInt8]]) -> Bool {
        state.withLock { state in
            for part in ViewPart.allCases where parts[part] != nil && parts[part] != state.parts[part] {
                state.parts[part] = parts[part]
                if !state.waiting.contains(part) { state.waiting.append(part) }
            }
            var room = ViewFrame.maxBytes
            var sent: [(part: ViewPart, bytes: [UInt8])] = []
            for part in state.waiting {
                guard let bytes = state.parts[part] else { continue }
                let size = ViewFrame.size(part, bytes)
                guard sent.isEmpty || size <= room else { continue }
                room -= size
                sent.append((part, bytes))
            }
            guard !sent.isEmpty else { return false }
            state.waiting.removeAll { part in sent.contains { $0.part == part } }
            state.changes = ViewFrame(number: state.changes.number + 1, sent)
            state.whole = nil
            return true
        }
    }

    /// Forgets the state, which grows old while there are no streams.
    func clear() {
        state.withLock { state in
            guard !state.parts.isEmpty else { return }
            state = State(changes: ViewFrame(number: state.changes.number, []))
        }
    }

    /// The frame for a stream that has the frame `number`; nil where it is the last one.
    /// - Parameter number: 0 for a new stream.
    func frame(after number: Int) -> ViewFrame? {
        state.withLock { state in
            let last = state.changes.number
            guard number != last else { return nil }
            if number > 0, number == last - 1 { return state.changes }
            if let whole = state.whole { return whole }
            let parts = ViewPart.allCases.compactMap { part in state.parts[part].map { (part: part, bytes: $0) } }
            let whole = ViewFrame(number: last, parts)
            state.whole = whole
            return whole
        }
    }
}

/// The contents of one stream `view`.
struct ViewSource: StreamSource {
    let hub: ViewHub
    let filter: Set<ViewPart>
    private var number = 0

    init(_ hub: ViewHub, filter: Set<ViewPart>) {
        self.hub = hub
        self.filter = filter
    }

    var keepAlive: ByteBuffer { ByteBuffer(string: ": keep\n\n") }

    mutating func next() -> [ByteBuffer]? {
        guard let frame = hub.frame(after: number) else { return nil }
        number = frame.number
        return frame.buffers(filter)
    }
}

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

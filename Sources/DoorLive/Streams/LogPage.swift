internal import Commands
internal import NIOCore
internal import Queue
internal import Synchronization

/// A page of transitions, and the frames that send it: they are written once for all streams with the same filter.
///
/// A frame has up to ``maxEvents`` transitions, and the position behind its last one as its id. The frame `gap` names
/// numbers that are missing, in the order of the transitions around them.
final class LogPage: Sendable {
    static let maxEvents = 200

    let page: TransitionPage
    private let written = Mutex<[TransitionFilter: [ByteBuffer]]>([:])

    init(_ page: TransitionPage) { self.page = page }

    /// Empty where the filter admits none of the transitions, and none is missing.
    func frames(_ filter: TransitionFilter) -> [ByteBuffer] {
        written.withLock { written in
            if let frames = written[filter] { return frames }
            let frames = write(filter)
            written[filter] = frames
            return frames
        }
    }

    private func write(_ filter: TransitionFilter) -> [ByteBuffer] {
        var writer = LogWriter(page.start)
        page.forEach(filter) { change, before, after in
            writer.position = before
            switch change {
            case .transition(let event): writer.add(event)
            case .gap(let gap): writer.add(gap, position: after)
            }
            writer.position = after
        }
        writer.position = page.end
        return writer.finish()
    }
}

/// Writes transitions and gaps as frames of `text/event-stream`.
struct LogWriter {
    /// Behind the last transition that was written or left out: the id of the next frame that is finished.
    var position: TransitionPosition
    private var frames: [ByteBuffer] = []
    private var json = JSONWriter(capacity: 64 << 10)
    private var count = 0

    init(_ position: TransitionPosition) { self.position = position }

    mutating func add(_ event: StatusEvent) {
        if count == LogPage.maxEvents { flush() }
        if count == 0 { json.beginArray() }
        json.beginObject()
        event.writeMembers(to: &json)
        json.endObject()
        count += 1
    }

    /// - Parameter position: behind the gap.
    mutating func add(_ gap: TransitionGap, position: TransitionPosition) {
        flush()
        self.position = position
        var json = JSONWriter()
        json.beginObject()
        json.member("shard", gap.shard)
        json.member("from", gap.numbers.lowerBound)
        json.member("to", gap.numbers.upperBound)
        json.endObject()
        append("gap", json.bytes)
    }

    mutating func finish() -> [ByteBuffer] {
        flush()
        return frames
    }

    private mutating func flush() {
        guard count > 0 else { return }
        json.endArray()
        append("log", json.bytes)
        json.removeAll()
        count = 0
    }

    private mutating func append(_ name: String, _ data: [UInt8]) {
        var frame = ByteBuffer(string: "id: \(position.text)\nevent: \(name)\ndata: ")
        frame.writeBytes(data)
        frame.writeStaticString("\n\n")
        frames.append(frame)
    }
}

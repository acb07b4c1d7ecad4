internal import Commands
internal import NIOCore

/// Writes transitions and gaps as frames of `text/event-stream`.
struct LogWriter {
    /// Behind the last transition that was written or left out.
    var position: LogPosition
    private var frames: [ByteBuffer] = []
    private var json = JSONWriter(capacity: 64 << 10)
    private var count = 0

    init(_ position: LogPosition) { self.position = position }

    /// Reports the numbers between the position and `number` as missing. A number that is not beyond the position says
    /// that the store was restored from a backup, which lacks the numbers from it on.
    mutating func close(_ shard: Int, before number: Int64) {
        let last = position.numbers[shard]
        guard number - 1 != last else { return }
        flush()
        let missing = number > last ? last + 1...number - 1 : number...last
        position.numbers[shard] = number - 1
        var gap = JSONWriter()
        gap.beginObject()
        gap.member("shard", shard)
        gap.member("from", missing.lowerBound)
        gap.member("to", missing.upperBound)
        gap.endObject()
        append("gap", gap.bytes)
    }

    mutating func add(_ event: StatusEvent) {
        if count == LogPage.maxEvents { flush() }
        if count == 0 { json.beginArray() }
        json.beginObject()
        event.writeMembers(to: &json)
        json.endObject()
        count += 1
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

internal import Commands
internal import NIOCore
internal import Synchronization

/// The transitions between two positions, and the frames that send them: they are written once for all streams with
/// the same filter.
///
/// A frame has up to ``maxEvents`` transitions, and the position behind its last one as its id. A number that is missing
/// between two transitions was pruned; the frame `gap` names such numbers, in the order of the transitions around them.
final class LogPage: Sendable {
    static let maxEvents = 200

    let start: LogPosition
    let end: LogPosition
    /// In the order of their numbers within each shard.
    let events: [StatusEvent]
    private let written = Mutex<[LogFilter: [ByteBuffer]]>([:])

    init(from start: LogPosition, to end: LogPosition, _ events: [StatusEvent]) {
        self.start = start
        self.end = end
        self.events = events
    }

    /// Empty where the filter admits none of the transitions, and none is missing.
    func frames(_ filter: LogFilter) -> [ByteBuffer] {
        written.withLock { written in
            if let frames = written[filter] { return frames }
            let frames = write(filter)
            written[filter] = frames
            return frames
        }
    }

    private func write(_ filter: LogFilter) -> [ByteBuffer] {
        var writer = LogWriter(start)
        for event in events {
            let (shard, number) = (event.shard, event.transition.seq)
            writer.close(shard, before: number)
            if filter.admits(event) { writer.add(event) }
            writer.position.numbers[shard] = number
        }
        for shard in end.numbers.indices { writer.close(shard, before: end.numbers[shard] + 1) }
        return writer.finish()
    }
}

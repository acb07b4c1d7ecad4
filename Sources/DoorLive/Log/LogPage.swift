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

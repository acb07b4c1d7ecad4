internal import NIOCore
internal import Queue

/// The contents of one stream `log`: from the store up to the present, then each new page.
struct LogSource: StreamSource {
    private let tail: LogTail
    private let reader: LogReader
    private let filter: TransitionFilter
    private var position: TransitionPosition?

    /// - Parameter position: nil: begins with the next transition.
    init(_ tail: LogTail, _ reader: LogReader, filter: TransitionFilter, after position: TransitionPosition?) {
        self.tail = tail
        self.reader = reader
        self.filter = filter
        self.position = position
    }

    /// A reader whose filter admits nothing still gets its position.
    var keepAlive: ByteBuffer {
        ByteBuffer(string: position.map { "id: \($0.text)\n: keep\n\n" } ?? ": keep\n\n")
    }

    mutating func next() async throws -> [ByteBuffer]? {
        let (next, position) = tail.next(after: position)
        if self.position == nil, let position {
            // With it, a client that is cut before the first transition misses none.
            self.position = position
            return [ByteBuffer(string: "id: \(position.text)\n\n")]
        }
        self.position = position
        switch next {
        case .level: return nil
        case .page(let page): return take(page)
        case .behind(let target):
            guard let position else { return nil }
            return take(try await reader.page(after: position, to: target))
        }
    }

    private mutating func take(_ page: LogPage) -> [ByteBuffer] {
        position = page.page.end
        return page.frames(filter)
    }
}

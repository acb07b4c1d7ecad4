internal import Host
internal import NIOCore
internal import Queue
internal import Synchronization

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

/// Reads older transitions from the store, in pages, on threads of its own. Streams at the same position share a page.
struct LogReader: Sendable {
    private static let pageSize = 1000
    /// Pages that are kept for streams that come to the same position.
    private static let maxPages = 8

    private final class Pages: Sendable {
        private let pages = Mutex<[LogPage]>([])

        func page(after position: TransitionPosition) -> LogPage? {
            pages.withLock { $0.last { $0.page.start == position } }
        }

        func keep(_ page: LogPage) {
            pages.withLock { pages in
                pages.append(page)
                if pages.count > LogReader.maxPages { pages.removeFirst() }
            }
        }

        func removeAll() { pages.withLock { $0 = [] } }
    }

    private let reader: TransitionReader
    private let pacer: LogPacer
    private let pool = BlockingPool(named: "sluice-log", maxThreads: 2)
    private let pages = Pages()

    init(_ queue: QueueAccess, _ pacer: LogPacer) {
        reader = TransitionReader(queue)
        self.pacer = pacer
    }

    /// The next transitions after a position.
    /// - Parameter target: no transition behind it is read.
    func page(after position: TransitionPosition, to target: TransitionPosition) async throws -> LogPage {
        if let page = pages.page(after: position) { return page }
        let page = try await pool.run { [reader, pages] in
            if let page = pages.page(after: position) { return page }
            let page = LogPage(try reader.page(after: position, to: target, limit: Self.pageSize))
            pages.keep(page)
            return page
        }
        let wait = pacer.read(page.page.events.count)
        if wait > .zero { try await Task.sleep(for: wait) }
        return page
    }

    /// Frees the pages. Call it when there are no streams.
    func clear() { pages.removeAll() }
}

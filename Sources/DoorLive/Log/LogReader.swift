internal import Host
internal import Queue
internal import Synchronization

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

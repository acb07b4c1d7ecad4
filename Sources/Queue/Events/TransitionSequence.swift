internal import Store

/// The transitions of a store after a position, those that are committed later included.
///
/// An iterator reads a page of up to 1,000 transitions when its last one is used up, and nothing in the meantime: a slow
/// consumer delays only itself. At the end of the store it looks for more every 50 ms. It ends when its task is cancelled,
/// or the client is closed.
public struct TransitionSequence: AsyncSequence, Sendable {
    let client: SluiceClient
    let position: TransitionPosition
    let filter: TransitionFilter

    public func makeAsyncIterator() -> Iterator { Iterator(client, position, filter) }

    /// Reads the store in pages.
    public struct Iterator: AsyncIteratorProtocol {
        static let pageSize = 1000
        static let interval: Duration = .milliseconds(50)

        private let client: SluiceClient
        private let reader: TransitionReader
        private let filter: TransitionFilter
        /// Behind the last page.
        private var position: TransitionPosition
        private var page: ArraySlice<TransitionEvent> = []

        fileprivate init(_ client: SluiceClient, _ position: TransitionPosition, _ filter: TransitionFilter) {
            self.client = client
            self.position = position
            self.filter = filter
            reader = TransitionReader(client.access)
        }

        /// The next transition or gap; nil when the task is cancelled or the client is closed.
        /// - Throws: ``SluiceError`` where the store cannot be read. The next call tries again.
        public mutating func next() async throws -> TransitionEvent? {
            while !Task.isCancelled, !client.isClosed {
                if let event = page.popFirst() { return event }
                if try await read() { continue }
                // A cancelled task ends the loop.
                try? await Task.sleep(for: Self.interval)
            }
            return nil
        }

        /// - Returns: false where the store has nothing behind the position, or the next transition may still come.
        private mutating func read() async throws -> Bool {
            let read = try await client.read { [reader, position, filter] _ in
                let newest = try reader.newest(known: position)
                guard newest != position else { return nil as (TransitionPosition, [TransitionEvent])? }
                let page = try reader.page(after: position, to: newest, limit: Self.pageSize)
                return page.end == position ? nil : (page.end, page.changes(filter))
            }
            guard let (end, changes) = read else { return false }
            position = end
            page = changes[...]
            return true
        }
    }
}

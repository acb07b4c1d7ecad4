public import Commands
internal import NetworkControl
internal import Store

extension SluiceClient {
    /// A part of the list of commands, in the order of their ids, which is that of their submits.
    ///
    /// ```swift
    /// var filter = CommandFilter(status: .tooManyTimes)
    /// var after: CommandID?
    /// repeat {
    ///     let page = try await client.list(filter, after: after)
    ///     for command in page.commands { print(command.id, command.reason ?? "") }
    ///     after = page.next
    /// } while after != nil
    /// ```
    /// A filter by status, and one without fields, is answered from an index; any other looks at the commands one by one.
    /// - Parameters:
    ///   - filter: the default admits all.
    ///   - order: the default is `oldestFirst`.
    ///   - after: ``CommandPage/next`` of the page before; nil, the default, starts at the first.
    ///   - limit: 1…1,000; the default is 100.
    public func list(
        _ filter: CommandFilter = CommandFilter(), order: CommandOrder = .oldestFirst, after: CommandID? = nil,
        limit: Int = 100
    ) async throws -> CommandPage {
        let limit = min(max(limit, 1), 1000)
        return try await read { queue in
            try queue.store.page(filter, order: order, after: after, limit: limit, until: nil)
        }
    }

    /// Why a command is not running: each reason in a sentence, with its value, its threshold and the event that ends the
    /// wait, as `sluice explain` prints them.
    /// - Throws: ``SluiceError``: `noSuchCommand` where there is no command with that id.
    public func explain(_ id: CommandID) async throws -> Explanation {
        guard let command = try await command(id) else { throw SluiceError.unknown(id) }
        let links: [LinkReport]
        do { links = try await LinkSource(access).readings(for: command) } catch {
            throw error is CancellationError ? error : SluiceError(error)
        }
        return try await read { queue in
            Explanation(
                of: command, reasons: try WaitExplainer(queue: queue, links: links).reasons(of: command),
                proxy: nil, errorOutput: try queue.errorOutput(of: command), now: queue.now)
        }
    }

    /// The transitions of commands after a position, from the store: none is missed or repeated, whichever processes run,
    /// and those that the store has no more are ``TransitionEvent/Change/gap(_:)``.
    ///
    /// ```swift
    /// for try await event in try client.events(since: position, matching: filter) {
    ///     switch event.change {
    ///     case .transition(let change): print("\(change.transition.id) is \(change.transition.status)")
    ///     case .gap(let gap): print("\(gap.numbers.count) transitions are gone")
    ///     }
    ///     position = event.position
    /// }
    /// ```
    /// Transitions of one shard, and so those of one command, come in the order of their commits; those of different
    /// shards mix.
    /// - Parameters:
    ///   - position: the position of the last event that was handled, ``newestPosition()``, or
    ///     ``TransitionPosition/start``.
    ///   - filter: leaves transitions out, but no gaps. The default admits all.
    /// - Throws: ``SluiceError``: `invalid` where the position is of a store with another number of shards.
    public func events(
        since position: TransitionPosition, matching filter: TransitionFilter = TransitionFilter()
    ) throws -> TransitionSequence {
        guard let position = position.filled(store.shardCount) else {
            throw SluiceError(
                .invalid,
                "the position “\(position)” is not one of this store, which has \(store.shardCount) shards; begin at "
                    + "newestPosition() or at TransitionPosition.start")
        }
        return TransitionSequence(client: self, position: position, filter: filter)
    }

    /// Behind the newest transition: events since it are those that are committed from now on.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func newestPosition() async throws -> TransitionPosition {
        try await read { queue in try TransitionReader(queue).newest() }
    }
}

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

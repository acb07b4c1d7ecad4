internal import Commands
package import Store
internal import Synchronization

/// The transitions of a store without holes, with ``NumberHoles``. It counts the reads of pages.
package final class RenumberedStore: TransitionStore {
    private struct State {
        var reads = 0
        var open: Int64?
    }

    package let target: any TransitionStore
    package let holes: NumberHoles
    private let state = Mutex(State())

    package init(_ target: any TransitionStore, seed: UInt64) {
        self.target = target
        holes = NumberHoles(seed: seed)
    }

    package var reads: Int { state.withLock { $0.reads } }

    /// Leaves a transition out of each shard, as if its transaction were still open.
    /// - Parameter real: its number in the store without holes; nil: the transaction is committed.
    package func setOpen(_ real: Int64?) { state.withLock { $0.open = real } }

    package var shardCount: Int { target.shardCount }
    package var clock: any StoreClock { target.clock }

    package func events(shard: Int, after seq: Int64, limit: Int) throws(StoreError) -> EventPage {
        let open = state.withLock { state in
            state.reads += 1
            return state.open
        }
        let real = holes.real(upTo: seq)
        var page = holes.renumbered(try target.events(shard: shard, after: real, limit: limit), after: real)
        guard let number = open.map(holes.number) else { return page }
        page.events.removeAll { $0.transition.seq == number }
        page.complete = min(page.complete, number - 1)
        page.prunedThrough = min(page.prunedThrough, page.complete)
        return page
    }

    package func lastTransition(shard: Int) throws(StoreError) -> Int64 {
        let last = holes.number(of: try target.lastTransition(shard: shard))
        guard let open = state.withLock({ $0.open }) else { return last }
        return min(last, holes.number(of: open) - 1)
    }
}

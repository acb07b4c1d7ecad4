internal import Synchronization

/// A histogram that any thread adds to without a lock.
package final class HistogramSeries: Sendable {
    package let bounds: [Double]
    /// One for each bucket; the last has no bound.
    nonisolated(unsafe) private let counts: UnsafeMutablePointer<Atomic<Int>>
    private let sum = NumberSeries()

    /// - Parameter bounds: the upper bounds of the buckets, ascending.
    package init(bounds: [Double]) {
        self.bounds = bounds
        counts = .allocate(capacity: bounds.count + 1)
        for index in 0...bounds.count { (counts + index).initialize(to: Atomic(0)) }
    }

    deinit {
        counts.deinitialize(count: bounds.count + 1)
        counts.deallocate()
    }

    /// Adds an observation. One that is not finite is left out.
    package func observe(_ value: Double) {
        guard value.isFinite else { return }
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count].add(1, ordering: .relaxed)
        sum.add(value)
    }

    package var value: HistogramValue {
        let counts = (0...bounds.count).map { self.counts[$0].load(ordering: .relaxed) }
        return HistogramValue(bounds: bounds, counts: counts, sum: sum.value)
    }
}

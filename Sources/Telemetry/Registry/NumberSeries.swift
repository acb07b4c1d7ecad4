internal import Synchronization

/// A number that any thread changes without a lock: a counter or a gauge.
package final class NumberSeries: Sendable {
    private let bits = Atomic<UInt64>(0)

    package init() {}

    package var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    package func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    package func add(_ amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let (isDone, present) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if isDone { return }
            old = present
        }
    }
}

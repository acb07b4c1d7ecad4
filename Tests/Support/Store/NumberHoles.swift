internal import Commands
package import Store

/// Numbers with holes for the transitions of a store that has none: those that a server's sequence gives, which skips the
/// numbers of transactions that were rolled back. Pure.
///
/// The number of a transition is larger than that of the one before it by 1 to 5, as a seed says.
package struct NumberHoles: Sendable {
    private static let stride: Int64 = 3

    private let seed: UInt64

    package init(seed: UInt64) { self.seed = seed }

    /// The number of a transition.
    /// - Parameter real: its number in the store without holes; 0, before the first, stays 0.
    package func number(of real: Int64) -> Int64 {
        guard real > 0 else { return real }
        var random = SeededRandom(seed: seed ^ UInt64(real))
        return real * Self.stride + Int64(random.number(in: 0..<Int(Self.stride)))
    }

    /// The number, in the store without holes, of the last transition that has at most this number.
    package func real(upTo number: Int64) -> Int64 {
        guard number > 0 else { return number }
        let real = number / Self.stride
        return self.number(of: real) <= number ? real : real - 1
    }

    /// A page of the store with the numbers that have holes.
    /// - Parameter real: the number behind which the page begins, in the store without holes.
    package func renumbered(_ page: EventPage, after real: Int64) -> EventPage {
        // Each missing number of the store without holes was pruned.
        var pruned = page.complete
        for event in page.events.reversed() where event.transition.seq == pruned { pruned -= 1 }
        return EventPage(
            page.events.map { event in
                var event = event
                event.transition.seq = number(of: event.transition.seq)
                return event
            }, complete: number(of: page.complete), prunedThrough: pruned > real ? number(of: pruned) : 0)
    }
}

internal import Commands
internal import HeapModule
internal import Wire

/// Offers that wait for a slot: of each kind, in lines for each destination, the first by its order at the head. Pure.
struct WaitingOffers: Sendable {
    struct Waiting: Sendable, Comparable {
        var offer: Offers.Offer
        var arrived: Int64

        static func == (left: Self, right: Self) -> Bool { left.offer.id == right.offer.id }
        static func < (left: Self, right: Self) -> Bool {
            (left.offer.order, left.offer.turn, left.offer.id) < (right.offer.order, right.offer.turn, right.offer.id)
        }
    }

    /// Offers that wait for the same: a destination's, and its suspects apart, because they let others pass.
    struct Line: Hashable, Sendable {
        var group: UInt32
        var suspect: Bool
    }

    /// What offers wait for.
    enum Kind: Int, CaseIterable, Sendable {
        case high
        case middle
        case low
        /// A slot beyond those of their class.
        case extra

        init(_ offer: Offers.Offer) {
            if offer.isExtra {
                self = .extra
            } else {
                switch offer.qos.serviceClass {
                case .high: self = .high
                case .middle: self = .middle
                case .low: self = .low
                }
            }
        }
    }

    /// By kind.
    private var lines = [[Line: Heap<Waiting>]](repeating: [:], count: Kind.allCases.count)
    private var ids: Set<CommandID> = []

    var count: Int { ids.count }

    func isEmpty(_ kind: Kind) -> Bool { lines[kind.rawValue].isEmpty }

    func count(_ kind: Kind) -> Int { lines[kind.rawValue].values.reduce(0) { $0 + $1.count } }

    /// - Returns: false where it waits already.
    mutating func insert(_ offer: Offers.Offer, now: Int64) -> Bool {
        guard ids.insert(offer.id).inserted else { return false }
        let kind = Kind(offer).rawValue
        let line = Line(group: offer.group, suspect: offer.suspect)
        // Taken out and put back: changing it in its place costs three allocations.
        var heap = lines[kind].removeValue(forKey: line) ?? Heap()
        heap.insert(Waiting(offer: offer, arrived: now))
        lines[kind][line] = heap
        return true
    }

    /// - Returns: how many there were.
    mutating func remove(where condition: (Waiting) -> Bool) -> Int {
        let before = ids.count
        for kind in lines.indices {
            for (line, heap) in lines[kind] where heap.unordered.contains(where: condition) {
                let kept = heap.unordered.filter { !condition($0) }
                for gone in heap.unordered where condition(gone) { ids.remove(gone.offer.id) }
                lines[kind][line] = kept.isEmpty ? nil : Heap(kept)
            }
        }
        return before - ids.count
    }

    /// The first of a kind, but of the lines that have to wait.
    func first(_ kind: Kind, but mustWait: (Line) -> Bool) -> Offers.Offer? {
        var best: Waiting?
        for (line, heap) in lines[kind.rawValue] {
            guard let first = heap.min, !mustWait(line) else { continue }
            if let known = best, known < first { continue }
            best = first
        }
        return best?.offer
    }

    /// Takes out what stands first in its line.
    mutating func removeFirst(_ offer: Offers.Offer) {
        let kind = Kind(offer).rawValue
        let line = Line(group: offer.group, suspect: offer.suspect)
        guard var heap = lines[kind].removeValue(forKey: line) else { return }
        if let first = heap.popMin() { ids.remove(first.offer.id) }
        if !heap.isEmpty { lines[kind][line] = heap }
    }
}

internal import Commands
internal import DequeModule
internal import HeapModule
internal import Host
internal import Wire

/// Offers that wait for a slot: for each kind of slot, a queue for each destination. The first of a queue is
/// the one with the smallest order. Pure.
struct WaitingOffers: Sendable {
    struct Entry: Sendable, Comparable {
        var offer: Offers.Offer
        var arrived: MonotonicTime

        static func == (left: Self, right: Self) -> Bool { left.offer.id == right.offer.id }
        static func < (left: Self, right: Self) -> Bool {
            (left.offer.order, left.offer.turn, left.offer.id) < (right.offer.order, right.offer.turn, right.offer.id)
        }
    }

    /// A destination's offers wait in one queue, and its suspects in another, because they let others pass.
    struct QueueKey: Hashable, Sendable {
        var group: UInt32
        var isSuspect: Bool

        fileprivate init(_ offer: Offers.Offer) {
            group = offer.group
            isSuspect = offer.suspect
        }
    }

    /// By kind.
    private var queues = [[QueueKey: Heap<Entry>]](repeating: [:], count: SlotKind.allCases.count)
    private var ids: Set<CommandID> = []

    var count: Int { ids.count }

    func isEmpty(_ kind: SlotKind) -> Bool { queues[kind.rawValue].isEmpty }

    func count(_ kind: SlotKind) -> Int { queues[kind.rawValue].values.reduce(0) { $0 + $1.count } }

    /// - Returns: false where it waits already.
    mutating func insert(_ offer: Offers.Offer, now: MonotonicTime) -> Bool {
        guard ids.insert(offer.id).inserted else { return false }
        let kind = SlotKind(offer).rawValue
        let key = QueueKey(offer)
        // Taken out and put back: to change the heap inside the dictionary costs three allocations.
        var heap = queues[kind].removeValue(forKey: key) ?? Heap()
        heap.insert(Entry(offer: offer, arrived: now))
        queues[kind][key] = heap
        return true
    }

    /// - Returns: the entries that it removed.
    mutating func remove(where condition: (Entry) -> Bool) -> [Entry] {
        var removed: [Entry] = []
        for kind in queues.indices {
            for (key, heap) in queues[kind] where heap.unordered.contains(where: condition) {
                let rest = heap.unordered.filter { !condition($0) }
                for gone in heap.unordered where condition(gone) {
                    ids.remove(gone.offer.id)
                    removed.append(gone)
                }
                queues[kind][key] = rest.isEmpty ? nil : Heap(rest)
            }
        }
        return removed
    }

    /// The first of a kind, except from the queues that must wait.
    func first(_ kind: SlotKind, mustWait: (QueueKey) -> Bool) -> Offers.Offer? {
        var best: Entry?
        for (key, heap) in queues[kind.rawValue] {
            guard let first = heap.min, !mustWait(key) else { continue }
            if let known = best, known < first { continue }
            best = first
        }
        return best?.offer
    }

    /// Removes the first of the queue that `offer` waits in.
    mutating func removeFirst(_ offer: Offers.Offer) {
        let kind = SlotKind(offer).rawValue
        let key = QueueKey(offer)
        guard var heap = queues[kind].removeValue(forKey: key) else { return }
        if let first = heap.popMin() { ids.remove(first.offer.id) }
        if !heap.isEmpty { queues[kind][key] = heap }
    }
}

/// Commands that are claimed ahead and wait for a slot, in the order of their claims: a queue for each kind
/// of slot, and one for suspects, which start one at a time.
struct ClaimedQueues: Sendable {
    private(set) var high: Deque<CommandID> = []
    private(set) var others: Deque<CommandID> = []
    private(set) var extras: Deque<CommandID> = []
    private(set) var suspects: Deque<CommandID> = []

    enum Queue: Sendable { case high, others, extras, suspects }

    static func queue(of kind: SlotKind, isSuspect: Bool) -> Queue {
        if isSuspect { return .suspects }
        switch kind {
        case .high: return .high
        case .middle, .low: return .others
        case .extra: return .extras
        }
    }

    mutating func append(_ id: CommandID, to queue: Queue) { self[queue].append(id) }
    mutating func popFirst(_ queue: Queue) -> CommandID? { self[queue].popFirst() }
    mutating func remove(_ id: CommandID, from queue: Queue) { self[queue].removeAll { $0 == id } }

    private subscript(queue: Queue) -> Deque<CommandID> {
        get {
            switch queue {
            case .high: high
            case .others: others
            case .extras: extras
            case .suspects: suspects
            }
        }
        _modify {
            switch queue {
            case .high: yield &high
            case .others: yield &others
            case .extras: yield &extras
            case .suspects: yield &suspects
            }
        }
    }
}

internal import Commands
internal import DequeModule
internal import HeapModule
internal import Host

/// When destinations may be probed: a heap, so that the next due one costs the same however many are down.
/// Pure.
///
/// Probes of links that are offline have a heap of their own. They fall due faster than ``ProbeBudget`` lets them go: of
/// 20,000 links that are offline, 670 a second against 25. So the dispatcher takes no more of them than may go, and
/// those of destinations that answer, but refuse, do not wait behind them.
struct ProbeSchedule: Sendable {
    enum Kind: Sendable, CaseIterable {
        /// The link is offline.
        case link
        /// The destination's own circuit breaker is open.
        case destination
    }

    private struct Due: Sendable, Comparable {
        var at: MonotonicTime
        var destination: Destination

        static func < (left: Self, right: Self) -> Bool {
            (left.at, left.destination.text) < (right.at, right.destination.text)
        }
    }

    private struct Time: Sendable, Equatable {
        var at: MonotonicTime
        var kind: Kind
    }

    private var links = Heap<Due>()
    private var destinations = Heap<Due>()
    private var times: [Destination: Time] = [:]
    /// Destinations of which admission is to be asked again, and when.
    private var wakes: [Destination: MonotonicTime] = [:]

    /// - Parameter at: nil where no probe is needed.
    mutating func set(_ destination: Destination, _ kind: Kind, at: MonotonicTime?) {
        let time = at.map { Time(at: $0, kind: kind) }
        guard times[destination] != time else { return }
        times[destination] = time
        guard let time else { return }
        change(kind) { $0.insert(Due(at: time.at, destination: destination)) }
        let times = times
        change(kind) { dues in
            guard dues.count > 2 * times.count + 64 else { return }
            dues = Heap(dues.unordered.filter { times[$0.destination] == Time(at: $0.at, kind: kind) })
        }
    }

    /// Takes out the destinations that are due. Each is set again when its probe has ended.
    mutating func takeDue(_ kind: Kind, now: MonotonicTime, maxCount: Int) -> [Destination] {
        var found: [Destination] = []
        while found.count < maxCount, let due = dues(kind).min, due.at <= now {
            change(kind) { $0.removeMin() }
            guard times[due.destination] == Time(at: due.at, kind: kind) else { continue }
            times[due.destination] = nil
            found.append(due.destination)
        }
        return found
    }

    /// When the next probe is due, at the latest.
    func next(_ kind: Kind) -> MonotonicTime? { dues(kind).min?.at }

    private func dues(_ kind: Kind) -> Heap<Due> { kind == .link ? links : destinations }

    private mutating func change(_ kind: Kind, _ body: (inout Heap<Due>) -> Void) {
        if kind == .link { body(&links) } else { body(&destinations) }
    }

    /// Admission is to be asked again for the destination at that time.
    mutating func wake(_ destination: Destination, at: MonotonicTime) { wakes[destination] = at }

    mutating func takeWakes(now: MonotonicTime) -> [Destination] {
        if wakes.isEmpty { return [] }
        let due = wakes.filter { $0.value <= now }.map(\.key)
        for destination in due { wakes[destination] = nil }
        return due
    }

    var nextWake: MonotonicTime? { wakes.values.min() }
}

/// Destinations whose circuit breaker lets a probe out, in the order in which they are looked at. Pure.
struct DueProbes: Sendable {
    private var order: Deque<Destination> = []
    private var known: Set<Destination> = []

    var isEmpty: Bool { known.isEmpty }

    mutating func insert(_ destination: Destination) {
        if known.insert(destination).inserted { order.append(destination) }
    }

    mutating func remove(_ destination: Destination) { known.remove(destination) }

    /// Takes some from the front. Each that is still due is inserted again, behind the others.
    mutating func take(_ maxCount: Int) -> [Destination] {
        var found: [Destination] = []
        while found.count < maxCount, let destination = order.popFirst() {
            if known.remove(destination) != nil { found.append(destination) }
        }
        return found
    }
}

internal import Commands
internal import HeapModule
internal import Host

/// When destinations may be probed: a heap, so that the next due one costs the same however many are down.
/// Pure.
struct ProbeSchedule: Sendable {
    private struct Due: Sendable, Comparable {
        var at: MonotonicTime
        var destination: Destination

        static func < (left: Self, right: Self) -> Bool {
            (left.at, left.destination.text) < (right.at, right.destination.text)
        }
    }

    private var dues = Heap<Due>()
    private var times: [Destination: MonotonicTime] = [:]
    /// Destinations of which admission is to be asked again, and when.
    private var wakes: [Destination: MonotonicTime] = [:]

    /// - Parameter at: nil where no probe is needed.
    mutating func set(_ destination: Destination, at: MonotonicTime?) {
        guard times[destination] != at else { return }
        times[destination] = at
        guard let at else { return }
        dues.insert(Due(at: at, destination: destination))
        if dues.count > 2 * times.count + 64 {
            dues = Heap(dues.unordered.filter { times[$0.destination] == $0.at })
        }
    }

    /// Takes out the destinations that are due. Each is set again when its probe has ended.
    mutating func takeDue(now: MonotonicTime, maxCount: Int) -> [Destination] {
        var found: [Destination] = []
        while found.count < maxCount, let due = dues.min, due.at <= now {
            dues.removeMin()
            guard times[due.destination] == due.at else { continue }
            times[due.destination] = nil
            found.append(due.destination)
        }
        return found
    }

    /// Admission is to be asked again for the destination at that time.
    mutating func wake(_ destination: Destination, at: MonotonicTime) { wakes[destination] = at }

    mutating func takeWakes(now: MonotonicTime) -> [Destination] {
        if wakes.isEmpty { return [] }
        let due = wakes.filter { $0.value <= now }.map(\.key)
        for destination in due { wakes[destination] = nil }
        return due
    }

    var next: MonotonicTime? { [dues.min?.at, wakes.values.min()].compactMap { $0 }.min() }
}

internal import Commands

/// Places of transfers whose connection broke while others kept theirs.
///
/// High quality that has all places of the global limit leaves each link one, and cuts nobody for it. Without this, one of
/// four low uploads whose connection broke beside 64 high ones came back when the other three had ended: it stood still for
/// 593 s of 600 (measured).
struct KeptPlaces: Sendable {
    /// When each is given up, in nanoseconds of the monotonic clock.
    private var ends: [ReadyQueue.Group: [Int64]] = [:]

    mutating func keep(_ group: ReadyQueue.Group, until end: Int64, now: Int64) {
        ends[group] = ends[group, default: []].filter { $0 > now } + [end]
    }

    func holds(_ group: ReadyQueue.Group, now: Int64) -> Bool { ends[group]?.contains { $0 > now } ?? false }

    /// One of the group goes out: whoever it is, as many run as before.
    mutating func use(_ group: ReadyQueue.Group) {
        guard var left = ends[group] else { return }
        left.removeFirst()
        ends[group] = left.isEmpty ? nil : left
    }
}

internal import DequeModule

/// Groups of the ready queue that wait for the same thing. Pure.
struct ParkedGroups: Sendable {
    private var groups: Deque<ReadyQueue.Group> = []
    private var known: Set<ReadyQueue.Group> = []
    private var takesNewest = false

    var isEmpty: Bool { groups.isEmpty }
    var count: Int { groups.count }

    func contains(_ group: ReadyQueue.Group) -> Bool { known.contains(group) }

    /// Does nothing where the group is there.
    mutating func append(_ group: ReadyQueue.Group) {
        if known.insert(group).inserted { groups.append(group) }
    }

    /// Takes the group that has waited longest.
    mutating func takeOldest() -> ReadyQueue.Group? {
        guard let group = groups.popFirst() else { return nil }
        known.remove(group)
        return group
    }

    /// Takes from both ends in turn, the oldest and the newest, so that a new destination does not wait for thousands
    /// of dead ones.
    mutating func take(_ maxCount: Int) -> [ReadyQueue.Group] {
        (0..<min(maxCount, groups.count)).compactMap { _ in
            takesNewest.toggle()
            guard let group = takesNewest ? groups.popLast() : groups.popFirst() else { return nil }
            known.remove(group)
            return group
        }
    }
}

/// The schedules, and those that need a look.
package struct ScheduleOverview: Sendable, Equatable {
    package struct Due: Sendable, Equatable {
        package var name: String
        package var at: Timestamp

        package init(name: String, at: Timestamp) {
            self.name = name
            self.at = at
        }
    }

    /// A schedule that has no next time, and why.
    package struct Held: Sendable, Equatable {
        package var name: String
        package var reason: String

        package init(name: String, reason: String) {
            self.name = name
            self.reason = reason
        }
    }

    package var count = 0
    package var paused = 0
    /// The one that fires next; nil where none has a next time.
    package var next: Due?
    /// In the order of their names.
    package var held: [Held] = []
    /// False where there are more than ``count``.
    package var isComplete = true

    package init() {}

    package mutating func add(name: String, isPaused: Bool, next due: Timestamp?, reason: String?) {
        count += 1
        if isPaused {
            paused += 1
        } else if let due {
            consider(Due(name: name, at: due))
        } else if let reason {
            held.append(Held(name: name, reason: reason))
        }
    }

    mutating func add(_ other: ScheduleOverview) {
        count += other.count
        paused += other.paused
        if let due = other.next { consider(due) }
        held = (held + other.held).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        isComplete = isComplete && other.isComplete
    }

    private mutating func consider(_ due: Due) {
        if next.map({ due.at < $0.at }) ?? true { next = due }
    }
}

/// The ordering keys that commands wait for.
package struct OrderingKeyOverview: Sendable, Equatable {
    package struct Queue: Sendable, Equatable {
        package var key: String
        /// Commands that wait for it.
        package var waiting: Int

        package init(key: String, waiting: Int) {
            self.key = key
            self.waiting = waiting
        }
    }

    /// Keys that a command waits for.
    package var keys = 0
    /// Commands that wait for a key.
    package var waiting = 0
    /// Nil where no command waits.
    package var longest: Queue?
    /// False where more commands wait.
    package var isComplete = true

    package init() {}

    package mutating func add(_ queue: Queue) {
        keys += 1
        waiting += queue.waiting
        if queue.waiting > longest?.waiting ?? 0 { longest = queue }
    }

    mutating func add(_ other: OrderingKeyOverview) {
        keys += other.keys
        waiting += other.waiting
        if let queue = other.longest, queue.waiting > longest?.waiting ?? 0 { longest = queue }
        isComplete = isComplete && other.isComplete
    }
}

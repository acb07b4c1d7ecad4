/// A process to keep running.
package struct ChildSpecification: Sendable {
    /// Unique among the children; in logs and reasons: `coordinator`, `worker-1`.
    package var name: String
    /// Without the executable's own name.
    package var arguments: [String]
    /// Added to the supervisor's own.
    package var environment: [String: String]
    /// An orderly stop ends the children of the lowest stage, and those of the next when they are gone.
    package var stage: Stage

    package enum Stage: Int, Sendable, Comparable, CaseIterable {
        /// What others do not need in order to end: workers, the door.
        case first
        /// What they need while they drain: the coordinator.
        case last

        package static func < (left: Stage, right: Stage) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    package init(name: String, arguments: [String], environment: [String: String] = [:], stage: Stage = .first) {
        self.name = name
        self.arguments = arguments
        self.environment = environment
        self.stage = stage
    }
}

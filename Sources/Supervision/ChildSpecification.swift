/// A child process that the supervisor keeps running.
package struct ChildSpecification: Sendable {
    /// Unique among the children; shown in logs and errors: `coordinator`, `worker-1`.
    package var name: String
    /// Without the executable's own name.
    package var arguments: [String]
    /// Added to the supervisor's own environment.
    package var environment: [String: String]
    /// A stop ends the children of the first stage, and those of the next stage when these are gone.
    package var stage: Stage
    /// Whether the supervisor ends all children where this one cannot start.
    package var isEssential = true

    package enum Stage: Int, Sendable, Comparable, CaseIterable {
        /// Children that no other child needs in order to end: workers, the door.
        case first
        /// Children that others need while they drain: the coordinator.
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

/// A key of the network policy in `sluice.yaml` that makes no sense (exit code 78).
package struct PolicyError: Error, Equatable, CustomStringConvertible {
    /// As it stands in the file: `network.level.degraded.utility`.
    package let key: String
    /// A sentence that says what is wrong and what would do.
    package let problem: String

    package init(key: String, problem: String) {
        self.key = key
        self.problem = problem
    }

    package var description: String { "configuration: \(key): \(problem)" }
}

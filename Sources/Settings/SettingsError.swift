/// A key of `sluice.yaml`, or a variable of the environment, that cannot be used (exit code 78).
package struct SettingsError: Error, Equatable, CustomStringConvertible {
    /// As it stands in the file: `network.level.degraded.utility`.
    package let key: String
    /// The rest of the sentence: what is wrong, and what is allowed.
    package let problem: String

    package init(key: String, problem: String) {
        self.key = key
        self.problem = problem
    }

    package var description: String { "configuration: \(key): \(problem)" }
}

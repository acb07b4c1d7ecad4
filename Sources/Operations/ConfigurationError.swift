/// A key of `sluice.yaml` that cannot be used (exit code 78).
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    package let key: String
    package let problem: String

    init(key: String, _ problem: String) {
        self.key = key
        self.problem = problem
    }

    package var description: String { "configuration: \(key): \(problem)" }
}

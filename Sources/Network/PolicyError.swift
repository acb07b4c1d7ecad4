/// A key of the network policy that makes no sense.
package struct PolicyError: Error, Equatable, CustomStringConvertible {
    /// Below `network`, as it stands in `sluice.yaml`: `levels.degraded.utility`.
    package let key: String
    /// A sentence that says what is wrong and what would do.
    package let problem: String

    package var description: String { "network.\(key): \(problem)" }
}

package import FlowText

/// Why and where the routes of a configuration cannot be used.
package struct RouteError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Nil where it is not known.
    package var position: SourcePosition?
    /// A sentence without a full stop at its end, and without the position.
    package var problem: String

    package var description: String { position.map { "line \($0.line): \(problem)" } ?? problem }
}

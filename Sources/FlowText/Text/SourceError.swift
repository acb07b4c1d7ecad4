/// Why and where a text is not YAML or JSON that can be used.
package struct SourceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The position of the problem; nil where it is the whole text.
    package var position: SourcePosition?
    /// A sentence without a full stop at its end, and without the position.
    package var problem: String

    package var description: String { position.map { "line \($0.line): \(problem)" } ?? problem }
}

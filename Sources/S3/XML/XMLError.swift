/// Why and where a text is not XML that this program reads.
struct XMLError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Bytes from the start of the text, from 0.
    var position: Int
    var problem: String

    var description: String { "\(problem) at byte \(position + 1)" }
}

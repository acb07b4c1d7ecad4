/// A pause in the reading of a body after each piece.
package struct ScriptPause: Sendable, Equatable {
    /// The size of a piece in bytes, at least 1.
    var size: Int
    var length: Duration
}

/// The sending of bytes in small pieces.
package struct ScriptDrip: Sendable, Equatable {
    /// The size of a piece in bytes, at least 1.
    var size: Int
    var interval: Duration
}

internal import Commands

/// A position among the commands that are held back, which are in the order of their `notBefore`, then of their
/// turns.
package struct HeldBackPosition: Sendable, Equatable {
    var notBefore: Timestamp
    var turn: Int64
}

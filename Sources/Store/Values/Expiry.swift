package import Commands

/// The result of cancelling commands whose deadline has passed.
package struct Expiry: Sendable, Equatable {
    package var effects: Effects
    /// The next deadline.
    package var next: Timestamp?

    package init(_ effects: Effects = Effects(), next: Timestamp?) {
        self.effects = effects
        self.next = next
    }
}

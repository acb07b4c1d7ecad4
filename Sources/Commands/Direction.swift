/// The direction of a transfer, seen from this host. The raw values are the words in events.
package enum Direction: String, Sendable, CaseIterable {
    case up
    case down

    /// The byte in frames.
    package var code: UInt8 { self == .up ? 0 : 1 }

    package init?(code: UInt8) {
        switch code {
        case 0: self = .up
        case 1: self = .down
        default: return nil
        }
    }
}

/// The way that the bytes of a transfer go, seen from this host. Names are the words in events.
package enum Direction: String, Sendable, CaseIterable {
    case up
    case down

    /// As it stands in frames.
    package var code: UInt8 { self == .up ? 0 : 1 }

    package init?(code: UInt8) {
        switch code {
        case 0: self = .up
        case 1: self = .down
        default: return nil
        }
    }
}

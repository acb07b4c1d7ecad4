internal import Commands
internal import Wire

/// Which slots a command may take.
enum SlotKind: Int, CaseIterable, Sendable {
    case high
    case middle
    case low
    /// A slot beyond those of its class.
    case extra

    init(_ offer: Offers.Offer) {
        if offer.isExtra {
            self = .extra
        } else {
            switch offer.qos.serviceClass {
            case .high: self = .high
            case .middle: self = .middle
            case .low: self = .low
            }
        }
    }
}

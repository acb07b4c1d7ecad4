internal import Transfers

/// The parts of a body beside the elements of its lists.
struct Envelope: Sendable, Equatable {
    /// The kind of value at the pointer of a list.
    enum Found: Sendable, Equatable {
        case nothing
        case array
        case other(String)
    }

    var items = Found.nothing
    var deletedItems = Found.nothing
    /// In the order of ``ScanPlan/values``, then of ``ScanPlan/signs``.
    var values: [EnvelopeValue]

    subscript(_ list: ScanPlan.List) -> Found {
        get {
            switch list {
            case .items: items
            case .deletedItems: deletedItems
            }
        }
        set {
            switch list {
            case .items: items = newValue
            case .deletedItems: deletedItems = newValue
            }
        }
    }
}

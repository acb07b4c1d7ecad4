internal import NetworkControl

/// The uplinks of this host as the kernel's routes described them last. Pure.
struct UplinkState {
    enum Change: Equatable {
        /// The main uplink has another interface or gateway.
        case mainReplaced
        /// An uplink leads nowhere, or does so for another reason; the main one has the empty name.
        case lost(name: String, reason: LinkReason)
        case found(name: String)
    }

    /// Why each lost uplink leads nowhere, by its name.
    private var lost: [String: LinkReason] = [:]
    /// The last that lived.
    private var main: RouteTable.Hop?

    /// - Parameter main: interface and gateway of the main uplink; nil where it is lost.
    mutating func update(lost new: [String: LinkReason], main newMain: RouteTable.Hop?) -> [Change] {
        var changes: [Change] = []
        if let newMain, let main, newMain != main { changes.append(.mainReplaced) }
        main = newMain ?? main
        for (name, reason) in new.sorted(by: { $0.key < $1.key }) where lost[name] != reason {
            changes.append(.lost(name: name, reason: reason))
        }
        for name in lost.keys.sorted() where new[name] == nil { changes.append(.found(name: name)) }
        lost = new
        return changes
    }
}

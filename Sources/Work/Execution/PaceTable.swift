internal import Commands
internal import Wire

/// How fast executions may send, by the coordinator's latest control state.
struct PaceTable: Sendable {
    var paces: [ControlState.Pace] = [] {
        didSet {
            guard paces != oldValue else { return }
            byLink = Dictionary(
                paces.map { (Key(group: $0.group, direction: $0.direction, qos: $0.qos), $0.bytesPerSecond) }
            ) { min($0, $1) }
        }
    }
    var isCoordinatorSilent = false
    /// Of the last coordinator. They hold as well, until the present one has decided on the transfers of this worker.
    private var former: [Key: Int64] = [:]

    private struct Key: Hashable {
        var group: UInt32
        var direction: Direction
        var qos: QualityOfService
    }

    private var byLink: [Key: Int64] = [:]

    /// Bytes per second of each low transfer while the coordinator is silent: 256 kbit/s, below which a link
    /// counts as poor. A few such transfers do not fill a link, even one that has become slow.
    static let safeRate: Int64 = 32_000

    /// Bytes per second; nil: as fast as it can.
    func rate(of command: Command, _ direction: Direction) -> Int64? {
        guard command.destination != .none else { return nil }
        let told = told(command, direction)
        guard isCoordinatorSilent, command.qos.serviceClass == .low else { return told }
        // A paused transfer goes on as well: the silent coordinator would never release it.
        return told == 0 ? Self.safeRate : min(told ?? .max, Self.safeRate)
    }

    private func told(_ command: Command, _ direction: Direction) -> Int64? {
        if byLink.isEmpty && former.isEmpty { return nil }
        let key = Key(group: Offers.group(of: command.destination), direction: direction, qos: command.qos)
        return [byLink[key], former[key]].compactMap { $0 }.min()
    }

    /// Another coordinator is there. Its first states may know nothing of what this worker runs.
    mutating func coordinatorChanged() { former.merge(byLink) { min($0, $1) } }

    /// The present coordinator has decided on the transfers of this worker.
    mutating func coordinatorHasDecided() { former = [:] }
}

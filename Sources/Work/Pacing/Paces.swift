internal import Commands
internal import Wire

/// How fast executions may send, as the coordinator said last.
struct Paces: Sendable {
    var rates: [ControlState.Pace] = [] {
        didSet {
            guard rates != oldValue else { return }
            byLink = Dictionary(
                rates.map { (Key(group: $0.group, direction: $0.direction, qos: $0.qos), $0.bytesPerSecond) }
            ) { min($0, $1) }
        }
    }
    var isCoordinatorSilent = false

    private struct Key: Hashable {
        var group: UInt32
        var direction: Direction
        var qos: QualityOfService
    }

    private var byLink: [Key: Int64] = [:]

    /// Bytes per second of each low transfer while the coordinator is silent: 256 kbit/s, below which a link counts as
    /// poor. Whatever the link has become, a few of these do not fill it.
    static let safeRate: Int64 = 32_000

    /// Nil: as fast as it can.
    func rate(of command: Command, _ direction: Direction) -> Int64? {
        guard command.destination != .none else { return nil }
        let told =
            byLink.isEmpty
            ? nil
            : byLink[Key(group: Offers.group(of: command.destination), direction: direction, qos: command.qos)]
        guard isCoordinatorSilent, command.qos.serviceClass == .low else { return told }
        // Who was paused goes on as well: nobody would let it go.
        return told == 0 ? Self.safeRate : min(told ?? .max, Self.safeRate)
    }
}

extension Executor.State {
    mutating func setPaces() {
        for held in running.values { held.pace.set(paces.rate(of: held.command, held.meter.reading.direction)) }
    }
}

internal import Commands
internal import Metrics
internal import Operations
internal import Store
internal import Wire

/// Reports of the transfers.
extension Executor {
    /// Calls `body`, on any thread, with the transfers that run, and the bytes that have moved by link.
    /// Offsets that have changed go along with the next commits.
    /// - Parameter elapsed: since the last call.
    func takeTransfers(elapsed: Duration, _ body: @escaping @Sendable (TransferReport) -> Void) {
        change { [self] state in
            let (transfers, offsets) = state.takeTransfers(seconds: elapsed.seconds)
            for write in offsets { committers[write.id].addToNextCommit(write, of: write.id) }
            body(transfers)
        }
    }
}

extension Executor.State {
    fileprivate mutating func takeTransfers(seconds: Double) -> (TransferReport, [ExecutionWrite]) {
        forgetQuietLinks()
        var links: [TransferReport.Link] = []
        var indices: [LinkName: Int] = [:]
        var roundTrips: [[Duration]] = []
        func index(of link: LinkName) -> Int {
            if let index = indices[link] { return index }
            let bytes = (totals[link] ?? LinkTotals()).ended
            links.append(TransferReport.Link(destination: link.destination, direction: link.direction, bytes: bytes))
            roundTrips.append([])
            indices[link] = links.count - 1
            return links.count - 1
        }
        // Executions that have ended since the last call count too: their last bytes belong to their link.
        for (link, total) in totals where total.quietReports < LinkTotals.repeats { _ = index(of: link) }

        var transfers: [TransferReport.Transfer] = []
        var offsets: [ExecutionWrite] = []
        for execution in slots.held.begun {
            let (reading, before) = execution.meter.take()
            let command = execution.command
            // A command without a destination that moves nothing is not a transfer.
            guard command.destination != .none || reading.bytes > 0 || reading.offset > 0 else { continue }
            let link = index(of: LinkName(destination: command.destination, direction: reading.direction))
            links[link].bytes[command.qos.serviceClass.rawValue] += reading.bytes
            linkMeter.resent(
                reading.resent(since: before),
                by: LinkName(destination: command.destination, direction: reading.direction))
            links[link].inFlight += 1
            if let roundTrip = reading.connection.roundTrip { roundTrips[link].append(roundTrip) }
            let rate = Int64(Double(max(reading.bytes - before.bytes, 0)) / seconds)
            let isAwaitingResponse = reading.isAwaitingResponse(since: before)
            let hasMoved =
                rate > 0 || reading.offset != before.offset || reading.verified != before.verified || isAwaitingResponse
            var transfer = execution.transfer(link: link, reading, rate: rate, hasMoved: hasMoved)
            transfer.isAwaitingResponse = isAwaitingResponse
            transfers.append(transfer)
            if reading.offset != before.offset {
                offsets.append(
                    .offset(command.id, claim: command.claim, offset: reading.offset, total: reading.total))
            }
        }
        for (index, link) in links.enumerated() {
            let name = LinkName(destination: link.destination, direction: link.direction)
            var total = totals[name] ?? LinkTotals()
            let bytes = link.allBytes
            links[index].rate = Int64(Double(max(bytes - total.reported, 0)) / seconds)
            links[index].roundTrip = roundTrips[index].sorted().middle
            total.quietReports = bytes == total.reported && link.inFlight == 0 ? total.quietReports + 1 : 0
            total.reported = bytes
            linkMeter.carried(total.takeNew(links[index].bytes), by: name)
            totals[name] = total
        }
        return (TransferReport(links: links, transfers: transfers), offsets)
    }

    /// Every ten minutes. A link that comes back is counted from 0, which the coordinator takes for a new
    /// beginning.
    private mutating func forgetQuietLinks() {
        rounds += 1
        guard rounds.isMultiple(of: LinkTotals.memory) else { return }
        totals = totals.filter { $0.value.quietReports < LinkTotals.repeats }
    }
}

extension CommandExecution {
    fileprivate func transfer(
        link: Int, _ reading: TransferMeter.Reading, rate: Int64, hasMoved: Bool
    ) -> TransferReport.Transfer {
        var transfer = TransferReport.Transfer(id: command.id, claim: command.claim, link: link, qos: command.qos)
        transfer.pacing = pace.bytesPerSecond == 0 ? .paused : reading.waited ? .throttled : .free
        transfer.isResumable = reading.isResumable
        transfer.isIdempotent = command.idempotent
        transfer.hasMoved = hasMoved
        transfer.isVerifying = reading.verified != nil
        transfer.offset = reading.verified ?? reading.offset
        transfer.total = reading.total
        transfer.rate = rate
        transfer.acknowledged = reading.bytes
        transfer.retransmitted = reading.connection.retransmitted
        transfer.roundTrip = reading.connection.roundTrip
        transfer.minRoundTrip = reading.connection.minRoundTrip
        transfer.firstByte = reading.connection.firstByte
        transfer.isWindowClosed = reading.connection.isWindowClosed
        return transfer
    }
}

extension [Duration] {
    fileprivate var middle: Duration? { isEmpty ? nil : self[count / 2] }
}

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

/// Counts the bytes that links carry, and those that the kernel sent again: of the first ``maxLinks`` links by name, and
/// of further ones together.
struct LinkMeter {
    private struct Counters {
        /// By class of quality.
        var carried: [Counter]
        var resent: Counter
    }

    static let maxLinks = 200
    static let other = "other"

    private var counters: [LinkName: Counters] = [:]
    private var others: [Direction: Counters] = [:]

    /// - Parameter bytes: since the last call, by class of quality.
    mutating func carried(_ bytes: [Int64], by link: LinkName) {
        guard link.destination != .none, bytes.contains(where: { $0 > 0 }) else { return }
        let counters = counters(of: link)
        for (counter, bytes) in zip(counters.carried, bytes) where bytes > 0 { counter.increment(by: bytes) }
    }

    /// - Parameter bytes: since the last call.
    mutating func resent(_ bytes: Int64, by link: LinkName) {
        guard link.destination != .none, bytes > 0 else { return }
        counters(of: link).resent.increment(by: bytes)
    }

    private mutating func counters(of link: LinkName) -> Counters {
        if let known = counters[link] { return known }
        guard counters.count < Self.maxLinks else {
            let made = others[link.direction] ?? Self.counters(Self.other, link.direction)
            others[link.direction] = made
            return made
        }
        let made = Self.counters(link.destination.text, link.direction)
        counters[link] = made
        return made
    }

    private static func counters(_ link: String, _ direction: Direction) -> Counters {
        let labels = [("link", link), ("direction", direction.rawValue)]
        return Counters(
            carried: ServiceClass.allCases.map { serviceClass in
                Counter(label: "sluice.link.bytes", dimensions: labels + [("class", "\(serviceClass)")])
            },
            resent: Counter(label: "sluice.link.resent.bytes", dimensions: labels))
    }
}

/// Cumulative bytes of the ended executions of a link.
struct LinkTotals: Sendable {
    /// By class of quality.
    private(set) var ended = [Int64](repeating: 0, count: ServiceClass.allCases.count)
    /// Bytes of all executions, also of the running ones, in the last report.
    var reported: Int64 = 0
    /// The part of them that ``LinkMeter`` has counted, by class of quality.
    private var counted = [Int64](repeating: 0, count: ServiceClass.allCases.count)
    /// Reports since something changed. The link is reported a few times more, because a report may be lost.
    var quietReports = 0

    static let repeats = 8
    /// Reports after which quiet links are forgotten: 10 minutes.
    static let memory = 2400

    /// The bytes since the last call.
    /// - Parameter bytes: cumulative, of all executions, by class of quality.
    /// - Returns: nothing below 0: an upload that gets its response becomes a transfer of the other direction, and takes
    ///   its bytes along.
    mutating func takeNew(_ bytes: [Int64]) -> [Int64] {
        zip(bytes.indices, bytes).map { index, value in
            defer { counted[index] = max(counted[index], value) }
            return max(value - counted[index], 0)
        }
    }

    mutating func add(_ bytes: Int64, _ serviceClass: ServiceClass) {
        ended[serviceClass.rawValue] += bytes
        quietReports = 0
    }
}

/// A destination and a direction.
struct LinkName: Hashable, Sendable {
    var destination: Destination
    var direction: Direction
}

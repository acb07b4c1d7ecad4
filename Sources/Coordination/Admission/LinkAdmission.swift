package import Commands
package import Host
package import NetworkControl
package import Wire

/// The network as the dispatcher sees it: which destinations take one more command, and the paces and orders
/// for workers. Pure. It translates between the messages and ``NetworkController``, which decides.
package struct LinkAdmission: Sendable {
    package internal(set) var controller: NetworkController
    package internal(set) var decisions = NetworkDecisions()
    /// A decision that workers must hear at once was made since ``takeUrgent()``.
    var isUrgent = false
    /// The known destinations, and the directions of their commands so far.
    var known: [Destination: [Direction]] = [:]
    /// Destinations that became known since ``takeNew()``.
    var new: Set<Destination> = []
    /// Of links that are not offline.
    var allowances: [LinkKey: LinkAllowance] = [:]
    /// Destinations whose allowance has changed since ``takeReleased()``, or that have answered since.
    var released: Set<Destination> = []
    /// Destinations outside their hours at the last tick.
    var outOfHours: Set<Destination> = []
    /// Claims of running transfers: an order names the execution that it means, not a later one.
    var claims: [CommandID: Int] = [:]
    /// The URLs of commands that wait for destinations which answer everything by 503; nil where the payload names none.
    var targets: [CommandID: CommandTarget?] = [:]
    /// Commands whose URLs are to be read from the store.
    var unreadTargets: Set<CommandID> = []

    package var policy: NetworkPolicy { controller.policy }

    package init(policy: NetworkPolicy = NetworkPolicy(), seed: UInt64 = 0) {
        controller = NetworkController(policy: policy, seed: seed)
    }

    // MARK: Destinations

    /// A destination or a direction occurs, perhaps for the first time. The route of loopback is known at once;
    /// the kernel tells the others.
    package mutating func register(_ destination: Destination, _ direction: Direction, now: MonotonicTime) {
        guard destination != .none, known[destination]?.contains(direction) != true else { return }
        let isNew = known[destination] == nil
        known[destination, default: []].append(direction)
        guard isNew else { return }
        new.insert(destination)
        if destination.isLoopback {
            controller.routeChanged(destination, to: .local, now: now)
        } else if !destination.isFile {
            controller.routeIsPending(destination)
        }
    }

    /// The controller has forgotten the links of a destination: it is registered again when it occurs again.
    /// - Returns: false where a link of the other direction is still known.
    package mutating func forget(_ destination: Destination) -> Bool {
        guard Direction.allCases.allSatisfy({ controller.links[LinkKey(destination, $0)] == nil }) else { return false }
        known[destination] = nil
        forgetAllowances(of: destination)
        controller.forget(destination)
        return true
    }

    /// Destinations that became known and were not returned yet, some at a time: a start beside 20,000 of them asks for
    /// their routes in many rounds.
    package mutating func takeNew(_ maxCount: Int = 512) -> Set<Destination> {
        let taken = Set(new.prefix(maxCount))
        new.subtract(taken)
        return taken
    }

    /// Destinations that have a link.
    package var destinations: Set<Destination> { Set(controller.links.keys.compactMap(\.destination)) }

    package mutating func routed(_ destination: Destination, _ route: Route, now: MonotonicTime) {
        controller.routeChanged(destination, to: route, now: now)
        forgetAllowances(of: destination)
        released.insert(destination)
    }

    private mutating func forgetAllowances(of destination: Destination) {
        for direction in Direction.allCases { allowances[LinkKey(destination, direction)] = nil }
    }

    // MARK: Dispatch

    /// The bounds for commands to a destination, which must not be `none`. Whether it can be reached and how
    /// many requests it takes is known of the link up, to which every end of an execution is reported. How many
    /// transfers the network carries is known of the link in their direction; a destination of both has the
    /// lower bounds of the two.
    func load(_ destination: Destination, _ qos: QualityOfService, now: MonotonicTime) -> Admission.Load {
        let key = LinkKey(destination, .up)
        var load = Admission.Load()
        load.availability = controller.availability(of: qos, to: key, now: now)
        load.allowance = allowance(of: destination)
        controller.fill(&load.allowance, of: key, now: now)
        load.isProven = controller.isProven(key)
        load.isFailing = controller.isFailing(key) || load.availability == .probe
        return load
    }

    private func allowance(of destination: Destination) -> LinkAllowance {
        let directions = known[destination] ?? [.up]
        return directions.dropFirst().reduce(allowance(of: LinkKey(destination, directions[0]))) {
            $0.combined(with: allowance(of: LinkKey(destination, $1)))
        }
    }

    private func allowance(of key: LinkKey) -> LinkAllowance {
        // An allowance from the time when it was offline does not apply when it is back.
        allowances[key] ?? controller.firstAllowance(of: key)
    }

    /// When the next probe may go to a destination; nil where none is needed, or one is under way.
    package func nextProbe(of destination: Destination) -> MonotonicTime? {
        destination == .none ? nil : controller.nextProbe(of: LinkKey(destination, .up))
    }

    /// The circuit breaker of its link is not closed.
    func isOffline(_ destination: Destination) -> Bool {
        controller.links[LinkKey(destination, .up)].map { !$0.circuitBreaker.isClosed } ?? false
    }

    /// The circuit breaker of the destination lets a probe out now.
    func isProbeDue(at destination: Destination, now: MonotonicTime) -> Bool {
        controller.circuitBreakers[destination]?.isProbeDue(now: now) ?? false
    }

    /// The uplink whose limit the destination shares with others.
    func uplink(of destination: Destination) -> LinkKey? { controller.uplink(of: LinkKey(destination, .up)) }

    /// The command is offered. High QoS preempts others before its first byte, unless it ends soon beside
    /// them.
    package mutating func offered(_ command: ReadyCommand, now: MonotonicTime) {
        guard command.destination != .none else { return }
        controller.offered(
            command.id, targets[command.id] ?? nil, to: LinkKey(command.destination, .up), now: now)
        guard
            let decisions = controller.announce(
                command.id, to: LinkKey(command.destination, CommandType.direction(of: command.type)), qos: command.qos,
                bytes: command.remaining, now: now)
        else { return }
        adopt(decisions)
        isUrgent = true
    }

    /// The command was offered, and no worker took it.
    package mutating func withdrawn(_ id: CommandID, from destination: Destination, now: MonotonicTime) {
        guard destination != .none else { return }
        controller.ended(id, to: LinkKey(destination, .up), outcome: .withdrawn, now: now)
    }

    /// Whether a running command has neither an answer nor an acknowledged byte, and its destination has never had one.
    func isUnanswered(_ id: CommandID, at destination: Destination) -> Bool {
        controller.isUnanswered(id, to: LinkKey(destination, .up))
    }

    /// The first try of a destination has made way for others.
    mutating func firstTryYielded(at destination: Destination) {
        controller.firstTryYielded(LinkKey(destination, .up))
    }

    /// Cuts transfers whose slots others need.
    mutating func preempt(_ ids: [CommandID], for cause: TransferOrder.Cause, now: MonotonicTime) {
        guard let decisions = controller.preempt(ids, for: cause, now: now) else { return }
        adopt(decisions)
        isUrgent = true
    }
}

/// The decisions of the controller, as the dispatcher and the workers need them.
extension LinkAdmission {
    /// Decides again. Call it 4 times a second.
    /// - Parameter waiting: ready commands in memory of the destinations where their number has changed.
    package mutating func tick(waiting: [Destination: [QualityOfService: Int]], minuteOfDay: Int, now: MonotonicTime) {
        controller.minuteOfDay = minuteOfDay
        for (destination, counts) in waiting where destination != .none {
            // Whether the destination can be reached is known of its link up.
            let directions = known[destination] ?? []
            for direction in directions.contains(.up) ? directions : [.up] + directions {
                controller.setWaiting(counts, for: LinkKey(destination, direction), now: now)
            }
        }
        adopt(controller.tick(now: now))
        let closed = Set(policy.destinations.keys.filter { controller.isOutOfHours(LinkKey($0, .up)) })
        released.formUnion(outOfHours.subtracting(closed))
        outOfHours = closed
        claims = claims.filter { controller.isRunning($0.key) }
        if !targets.isEmpty, !controller.answersUnavailable { targets = [:] }
    }

    mutating func adopt(_ new: NetworkDecisions) {
        let (changed, forgotten) = (decisions.changed, decisions.forgotten)
        decisions = new
        decisions.changed = changed + new.changed
        decisions.forgotten = forgotten + new.forgotten
        for (key, allowance) in new.allowances {
            // That of an offline link is not asked for, see ``allowance(of:)``: of 20,000 links it would take 6 MB.
            let kept = allowance.level == .offline ? nil : allowance
            guard let destination = key.destination, allowances[key] != kept else { continue }
            allowances[key] = kept
            released.insert(destination)
        }
    }

    /// Destinations about which admission is to be asked again: their allowance has changed, or their hours
    /// have begun.
    package mutating func takeReleased() -> Set<Destination> {
        defer { released = [] }
        return released
    }

    /// Destinations that have answered, or taken bytes, for the first time or again.
    package mutating func takeProven() -> [Destination] { controller.takeProven() }

    /// Links that the controller has forgotten since the last call.
    package mutating func takeForgotten() -> [LinkKey] {
        defer { decisions.forgotten = [] }
        return decisions.forgotten
    }

    /// Links whose level has changed since the last call.
    package mutating func takeChanged() -> [LinkKey] {
        defer { decisions.changed = [] }
        return decisions.changed
    }

    /// Whether a decision was made that cannot wait for the next tick.
    package mutating func takeUrgent() -> Bool {
        defer { isUrgent = false }
        return isUrgent
    }

    // MARK: For workers

    package var paces: [ControlState.Pace] {
        decisions.pacing.compactMap { pacing in
            guard let destination = pacing.key.destination else { return nil }
            return ControlState.Pace(
                group: Offers.group(of: destination), direction: pacing.key.direction, qos: pacing.qos,
                bytesPerSecond: pacing.bytesPerSecond)
        }
    }

    package var orders: [ControlState.Stop] {
        decisions.orders.compactMap { order in
            guard let claim = claims[order.id] else { return nil }
            return ControlState.Stop(
                order.verb == .cut ? .release : .cancel, CommandClaim(id: order.id, claim: claim),
                reason: order.cause.phrase)
        }
    }
}

extension TransferOrder.Cause {
    /// For the row of the command.
    fileprivate var phrase: String {
        switch self {
        // An unknown level is treated as good.
        case .level(let level, let link): "\(link.name) is \(max(level, .good).name)"
        case .contention(let link): "high quality of service needs \(link.name)"
        case .slotForHigh: "high quality of service waits for a slot at the destination"
        case .slotsForMiddle: "middle quality of service has fewer than half of the slots"
        case .firstTry: "no answer yet, and other destinations wait for their first try"
        }
    }
}

extension Destination {
    /// Its packets never leave this host.
    package var isLoopback: Bool {
        guard let host = text.firstRange(of: "://").map({ text[$0.upperBound...] }) else { return false }
        let name = host.prefix { $0 != ":" }
        return name == "localhost" || host.hasPrefix("[::1]:")
            || name.hasPrefix("127.") && name.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (48...57).contains($0) }
    }
}

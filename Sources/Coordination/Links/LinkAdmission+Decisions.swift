package import Commands
package import Host
package import NetworkControl
package import Wire

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

package import Commands
package import Console
internal import Host
package import NetworkControl
internal import Settings
package import Store

/// Finds the reasons why a command does not run, the nearest first. Reads the store and the locks, and
/// changes neither.
package struct WaitExplainer {
    let queue: QueueAccess
    let now: Timestamp
    /// The links as the coordinator reports them, or as the last one left them.
    let links: [LinkReport]
    /// Of the command, where it runs and its coordinator answers.
    let progress: CommandProgress?

    var store: any CommandStore { queue.store }

    package init(queue: QueueAccess, links: [LinkReport] = [], progress: CommandProgress? = nil) {
        self.queue = queue
        self.links = links
        self.progress = progress
        now = queue.now
    }

    /// Whether the reasons of a command depend on links, which cost a question to the coordinator. Those of a blocked one are
    /// also the reasons of the commands that it waits for.
    private static func needsLinks(_ command: Command) -> Bool {
        !command.status.isFinal && (command.status == .blocked || command.destination != .none)
    }

    /// The destinations whose links the reasons of a command depend on: its own, or those of the commands that a blocked one
    /// waits for in the end.
    func linkDestinations(of command: Command) throws(StoreError) -> Set<Destination> {
        guard Self.needsLinks(command) else { return [] }
        guard command.status == .blocked else { return [command.destination] }
        let waiting = try namedBlockers(of: command).map(\.command).filter { [.new, .error].contains($0.status) }
        return Set(waiting.map(\.destination)).subtracting([.none])
    }

    /// - Throws: ``StoreError`` where the shard of the command cannot be read.
    package func reasons(of command: Command) throws(StoreError) -> [WaitReason] {
        switch command.status {
        case .success: return [ended(command, "it succeeded", remedy: "Nothing more will happen")]
        case .cancelled:
            return [ended(command, "it was cancelled", remedy: "“sluice retry \(command.id)” runs it again")]
        case .tooManyTimes:
            return [ended(command, "it was given up", remedy: "“sluice retry \(command.id)” starts afresh")]
        case .inDoubt: return [doubt(command)] + (earlierRun(command).map { [$0] } ?? [])
        case .blocked: return try blocked(command)
        case .queued, .sent:
            let running = try running(command)
            // A running transfer may be throttled or paused by its link.
            let session = try store.sessions().first { $0.seat == command.seat }
            return try [
                earlierRun(command, beside: session), running, fullDisk(), link(command), locked(command),
            ].compactMap(\.self)
        case .new, .error: return try waiting(command)
        }
    }

    // MARK: Ended, or running

    private func ended(_ command: Command, _ end: String, remedy: String) -> WaitReason {
        let reason = command.reason.map { ": \($0)" } ?? ""
        return WaitReason("ended", "\(end) at \(command.updatedAt)\(reason)", remedy: remedy)
    }

    private func doubt(_ command: Command) -> WaitReason {
        let reason = command.reason.map { ": \($0)" } ?? ""
        let place = command.destination == .none ? "what it has done" : command.destination.text
        return WaitReason(
            "doubt", "it may have been delivered, and must not be executed twice\(reason)",
            threshold: "a person's decision",
            remedy: "Look at \(place), then “sluice resolve \(command.id) --success”, --retry or --cancel")
    }

    private func running(_ command: Command) throws(StoreError) -> WaitReason {
        let seat = command.seat ?? 0
        let session = try store.sessions().first { $0.seat == seat }
        let isAlive = session.map { queue.isAlive($0) } ?? false
        let worker = "worker \(seat)" + (session.map { ", pid \($0.pid)" } ?? "")
        guard isAlive else {
            return WaitReason(
                "worker", "\(worker) had claimed it and is dead", threshold: "a living worker",
                remedy: queue.coordinator != nil
                    ? "The coordinator releases it within a second"
                    : "A coordinator releases it when it starts: “sluice up”")
        }
        if let session, queue.isFrozen(session) {
            return WaitReason(
                "frozen", "\(worker) executes it, and its control group is frozen",
                threshold: "a group that is not frozen",
                remedy: "It goes on when the group is thawed, as by “docker unpause”")
        }
        if let stalled = session.flatMap({ queue.stalled($0) }) {
            return WaitReason(
                "worker", "\(worker) has claimed it, and makes no progress: \(stalled.clause)",
                threshold: "progress of the worker",
                remedy: stalled.remedy.prefix(1).uppercased() + stalled.remedy.dropFirst()
                    + "; where the worker ends, the coordinator releases the command")
        }
        if command.cancelRequested {
            return WaitReason(
                "cancel", "its cancellation was requested, and \(worker) executes it",
                threshold: "the answer of the worker",
                remedy: "The worker ends it, unless the destination has already accepted it")
        }
        if let reason = try runningWait(command, worker) { return reason }
        var measured = "\(worker) executes it, \(command.status.word) for \((now - command.updatedAt).shortText)"
        // The offset is stored only for a transfer that can continue from it.
        if command.offset > 0, command.total > 0 {
            measured += ", \(command.offset) of \(command.total)\(command.destination == .none ? "" : " bytes")"
        }
        return WaitReason("running", measured, remedy: "It is running now")
    }

    // MARK: Waiting

    private func waiting(_ command: Command) throws(StoreError) -> [WaitReason] {
        var reasons: [WaitReason] = []
        for pause in try queue.pauses() where pause.covers(command) {
            reasons.append(
                WaitReason(
                    "pause", "\(pause.scope) paused since \(pause.since)", threshold: "no pause",
                    remedy: "“\(pause.resume)” lifts it", values: pause.json))
        }
        let endpoint = try pausedEndpoint(command)
        if let endpoint { reasons.append(endpoint) }
        if let reason = circuitBreaker(command) { reasons.append(reason) }
        // A message to a paused endpoint is held back until then at the latest: the pause is the reason.
        let isHeldBack = endpoint != nil && command.status == .new && command.claim > 0
        if command.notBefore > now, !isHeldBack { reasons.append(tooEarly(command)) }
        if let reason = try link(command) { reasons.append(reason) }
        if let reason = fullDisk() { reasons.append(reason) }
        if queue.coordinator == nil {
            reasons.append(
                WaitReason(
                    "coordinator", "no coordinator is running", threshold: "one",
                    remedy: "“sluice up” or “sluice coordinator” starts one"))
        } else if let stalled = queue.stalledCoordinator {
            reasons.append(
                WaitReason(
                    "coordinator", "the coordinator makes no progress: \(stalled.clause)", threshold: "one that does",
                    remedy: stalled.remedy.prefix(1).uppercased() + stalled.remedy.dropFirst()))
        }
        let alive = try store.sessions().filter { queue.isAlive($0) }
        let stalled = alive.compactMap { queue.stalled($0) }
        if let first = stalled.first, stalled.count == alive.count {
            reasons.append(
                WaitReason(
                    "worker", "no worker makes progress; \(first.name): \(first.clause)", threshold: "one that does",
                    remedy: first.remedy.prefix(1).uppercased() + first.remedy.dropFirst()))
        } else if alive.isEmpty {
            reasons.append(
                WaitReason(
                    "worker", "no worker is running", threshold: "one or more",
                    remedy: "“sluice up” or “sluice worker” starts one"))
        } else if let reason = try type(command, alive) {
            reasons.append(reason)
        }
        if let reason = try missingLimit(command) { reasons.append(reason) }
        if let reason = locked(command) { reasons.append(reason) }
        if let reason = try suspicion(command, alive) { reasons.append(reason) }
        // A throttle does not keep a command from starting, so it does not explain the wait alone.
        if reasons.allSatisfy(\.isThrottle) {
            if let reason = admission(command) ?? linkWait(command) {
                reasons.append(reason)
            } else if let reason = try rate(command) {
                reasons.append(reason)
            } else {
                reasons.append(try slots(command, workers: alive.count))
            }
        }
        if let reason = earlierRun(command) { reasons.append(reason) }
        return reasons
    }

    private func tooEarly(_ command: Command) -> WaitReason {
        let left = (command.notBefore - now).shortText
        if command.status == .error {
            let reason = command.reason.map { " (\($0))" } ?? ""
            return WaitReason(
                "backoff",
                "failure \(command.retries) of \(command.retryLimit + 1)\(reason); it waits until "
                    + command.notBefore.description,
                threshold: "now, \(now), past it", remedy: "It runs again in \(left); “sluice retry \(command.id)” now",
                values: .object([
                    .init("retries", .integer(Int64(command.retries))),
                    .init("retryLimit", .integer(Int64(command.retryLimit))),
                    .init("notBefore", .string(command.notBefore.description)),
                ]))
        }
        // The circuit breaker states the reason of a command that its destination refused.
        let reason = circuitBreaker(command) == nil ? command.reason.map { " (\($0))" } ?? "" : ""
        return WaitReason(
            "notBefore", "not before \(command.notBefore)\(reason)", threshold: "now, \(now), past it",
            remedy: "It is due in \(left)",
            values: .object([.init("notBefore", .string(command.notBefore.description))]))
    }
}

extension WaitExplainer {
    /// The command names a rate limit that does not exist.
    func missingLimit(_ command: Command) throws(StoreError) -> WaitReason? {
        guard let name = command.limit, try limit(name) == nil else { return nil }
        return WaitReason(
            "rate", "the rate limit “\(name)” does not exist", threshold: "one of that name",
            remedy: "“sluice limit set \(name) --starts RATE” makes it, and the command then takes its turn",
            values: .object([.init("limit", .string(name))]))
    }

    /// The rate limit of the command, with the commands that wait for it.
    func rate(_ command: Command) throws(StoreError) -> WaitReason? {
        guard let name = command.limit, let limit = try limit(name) else { return nil }
        let waiting = try store.mapShards(or: 0) { shard throws(StoreError) in
            try store.readyCounts(shard: shard)[name] ?? 0
        }.reduce(0, +)
        let running = try store.claimed().joined().count { $0.limit == name }
        let values = JSONValue.object([
            .init("limit", .string(name)), .init("starts", .string(limit.starts.description)),
            .init("waiting", .integer(Int64(waiting))), .init("running", .integer(Int64(running))),
        ])
        if let atOnce = limit.atOnce, running >= atOnce {
            return WaitReason(
                "rate", "limit “\(name)” lets \(atOnce) run at once, and \(running) \(running == 1 ? "runs" : "run")",
                threshold: "fewer than \(atOnce)", remedy: "It begins when one of those ends and its turn comes",
                values: values)
        }
        let others = max(waiting - 1, 0)
        let starts = limit.starts
        let left = Duration.seconds(
            Double(waiting) / Double(starts.count) * starts.period.duration.seconds)
        return WaitReason(
            "rate",
            "limit “\(name)” starts \(starts.count) in a \(starts.period), and \(others) "
                + "\(others == 1 ? "other waits" : "others wait") for it",
            threshold: "a token",
            remedy: limit.atOnce == nil
                ? "At this rate all of them have started in \(left.shortText)"
                : "It begins when its turn comes, and fewer than \(limit.atOnce ?? 0) run", values: values)
    }

    private func limit(_ name: String) throws(StoreError) -> RateLimit? {
        RateLimit.parse(try store.settingsIfUsable(prefix: SettingKey.limit(name)))[name]
    }

    /// The endpoint of a webhook is paused: its messages wait, uncharged.
    func pausedEndpoint(_ command: Command) throws(StoreError) -> WaitReason? {
        guard command.type == CommandType.webhook else { return nil }
        let paused = try queue.webhookEndpoints().filter { !$0.state.isActive || !$0.state.gone.isEmpty }
        guard !paused.isEmpty else { return nil }
        let payload = try store.payload(command.id).flatMap { try? JSONValue(parsing: $0) }
        let named = payload?["endpoint"]?.string
        guard let endpoint = paused.first(where: { $0.receives(endpoint: named, to: command.destination) }) else {
            return nil
        }
        let gone = endpoint.state.isActive ? endpoint.state.gone(payload?["url"]?.string ?? "") : nil
        let whole = endpoint.state.isActive ? nil : endpoint.state.reason(endpoint.name)
        guard let reason = whole ?? gone.map({ endpoint.state.reason(endpoint.name, $0) }) else { return nil }
        return WaitReason(
            "endpoint", reason, threshold: "an endpoint that is not paused",
            remedy: "Mend the receiver; “\(WebhookEndpointState.remedy(endpoint.name))” then lets all its messages go "
                + "on, uncharged",
            values: .object([
                .init("endpoint", .string(endpoint.name)),
                .init("cause", .string((endpoint.state.pause?.cause ?? .gone).rawValue)),
            ]))
    }
}

internal import Commands
internal import Console
internal import Coordination
internal import Host
internal import NetworkControl
internal import Sluice
internal import Store

/// Finds the gates in front of a command, the nearest first. Reads only the store and the locks, and changes neither.
struct WaitExplainer {
    let instance: Instance
    var now: Timestamp = .now
    /// As the coordinator tells them, or has left them.
    var links: [LinkReading] = []

    private var store: any CommandStore { instance.store }

    func reasons(of command: Command) throws(StoreError) -> [WaitReason] {
        switch command.status {
        case .success: return [ended(command, "it is done", "Nothing more will happen")]
        case .cancelled:
            return [ended(command, "it was cancelled", "“sluice retry \(command.id)” runs it again")]
        case .tooManyTimes:
            return [ended(command, "it was given up", "“sluice retry \(command.id)” starts afresh")]
        case .inDoubt: return [doubt(command)]
        case .blocked:
            return [
                WaitReason(
                    name: "dependencies", value: "it waits for commands that it depends on",
                    threshold: "all in success",
                    opens: "It is ready when they have succeeded, and cancelled when one of them fails")
            ]
        case .queued, .sent:
            let running = try running(command)
            // What runs may be throttled or paused, and made to go by its link.
            return try [running] + (link(command).map { [$0] } ?? [])
        case .new, .error: return try waiting(command)
        }
    }

    // MARK: Ended, or running

    private func ended(_ command: Command, _ what: String, _ opens: String) -> WaitReason {
        let reason = command.reason.map { ": \($0)" } ?? ""
        return WaitReason(name: "ended", value: "\(what) at \(command.updatedAt)\(reason)", opens: opens)
    }

    private func doubt(_ command: Command) -> WaitReason {
        let reason = command.reason.map { ": \($0)" } ?? ""
        return WaitReason(
            name: "doubt", value: "nobody knows whether it was delivered, and it may not be executed twice\(reason)",
            threshold: "a person's word",
            opens: "Look at \(command.destination), then “sluice resolve \(command.id) --success”, --retry or --cancel")
    }

    private func running(_ command: Command) throws(StoreError) -> WaitReason {
        let seat = command.seat ?? 0
        let session = try store.sessions().first { $0.seat == seat }
        let isAlive = session.map { instance.isAlive($0) } ?? false
        let pid = session.map { ", pid \($0.pid)" } ?? ""
        let since = (now - command.updatedAt).shortText
        guard isAlive else {
            return WaitReason(
                name: "worker", value: "worker \(seat)\(pid) had claimed it and is dead", threshold: "a living worker",
                opens: instance.coordinator.isHeld
                    ? "The coordinator gives it back within a second"
                    : "A coordinator gives it back when it starts: “sluice up”")
        }
        if command.cancelRequested {
            return WaitReason(
                name: "cancel", value: "its cancellation is wished, and worker \(seat)\(pid) holds it",
                threshold: "the worker's word", opens: "The worker ends it; a success that was already given wins")
        }
        var value = "worker \(seat)\(pid) executes it, \(command.status) for \(since)"
        // Nothing is stored of what could not go on from there.
        if command.offset > 0, command.total > 0 { value += ", \(command.offset) of \(command.total) bytes" }
        return WaitReason(name: "running", value: value, opens: "It is running now")
    }

    // MARK: Waiting

    private func waiting(_ command: Command) throws(StoreError) -> [WaitReason] {
        var reasons: [WaitReason] = []
        for pause in try instance.pauses() where pause.covers(command) {
            reasons.append(
                WaitReason(
                    name: "pause", value: "\(pause.what) paused since \(pause.since)", threshold: "no pause",
                    opens: "“\(pause.resume)” lifts it"))
        }
        if let gate = circuitBreaker(command) { reasons.append(gate) }
        if command.notBefore > now { reasons.append(tooEarly(command)) }
        if let gate = try link(command) { reasons.append(gate) }
        let coordinator = instance.coordinator
        if !coordinator.isHeld {
            reasons.append(
                WaitReason(
                    name: "coordinator", value: "no coordinator is running", threshold: "one",
                    opens: "“sluice up” or “sluice coordinator” starts one"))
        }
        let alive = try store.sessions().filter { instance.isAlive($0) }
        if alive.isEmpty {
            reasons.append(
                WaitReason(
                    name: "worker", value: "no worker is running", threshold: "one or more",
                    opens: "“sluice up” or “sluice worker” starts one"))
        } else if let gate = try type(command, alive) {
            reasons.append(gate)
        }
        if let gate = locked(command) { reasons.append(gate) }
        if let gate = try suspicion(command, alive) { reasons.append(gate) }
        // Who is only made slower waits for something else.
        if reasons.allSatisfy(\.isPace) {
            if let wait = admission(command) {
                reasons.append(wait)
            } else if let wait = linkWait(command) {
                reasons.append(wait)
            } else {
                reasons.append(try places(command, workers: alive.count))
            }
        }
        return reasons
    }

    /// Another process keeps its shard, so that nobody can claim it. Asks for a second where that is so.
    private func locked(_ command: Command) -> WaitReason? {
        let shard = command.id.shard(of: store.shardCount)
        do throws(StoreError) {
            _ = try store.apply([], shard: shard, seat: 0, epoch: 0, now: now, timeout: .seconds(1))
            return nil
        } catch {
            return WaitReason(
                name: "shard", value: error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message,
                threshold: "its lock free",
                opens: "It begins when that process has let go of the lock, or has ended")
        }
    }

    /// Its worker died while it was executed: such run one at a time in each worker, beside everything else.
    private func suspicion(_ command: Command, _ alive: [Session]) throws(StoreError) -> WaitReason? {
        guard command.suspect, !alive.isEmpty else { return nil }
        let busy = try store.mapShards(or: []) { shard throws(StoreError) in try store.claimed(shard: shard) }
            .flatMap(\.self).filter { row in row.suspect && alive.contains { $0.epoch == row.epoch } }
        guard Set(busy.map(\.epoch)).count >= alive.count else { return nil }
        return WaitReason(
            name: "suspect",
            value:
                "a worker died while it executed this, and each of the \(alive.count) running workers executes another "
                + "such command",
            threshold: "a worker without one", opens: "It begins when one of those ends and its turn comes")
    }

    private func tooEarly(_ command: Command) -> WaitReason {
        let left = (command.notBefore - now).shortText
        if command.status == .error {
            let reason = command.reason.map { " (\($0))" } ?? ""
            return WaitReason(
                name: "backoff",
                value: "failure \(command.retries) of \(command.retryLimit + 1)\(reason); it waits until "
                    + command.notBefore.description,
                threshold: "now, \(now), past it", opens: "It runs again in \(left); “sluice retry \(command.id)” now")
        }
        // Of a command that its destination refused, the gate of the circuit breaker says the reason.
        let reason = circuitBreaker(command) == nil ? command.reason.map { " (\($0))" } ?? "" : ""
        return WaitReason(
            name: "notBefore", value: "not before \(command.notBefore)\(reason)", threshold: "now, \(now), past it",
            opens: "It is due in \(left)")
    }

    /// The circuit breaker of its destination, while it is not closed.
    private func circuitBreaker(_ command: Command) -> WaitReason? {
        guard let circuitBreaker = own(command).lazy.compactMap(\.circuitBreaker).first else { return nil }
        let destination = command.destination
        let since = circuitBreaker.since.map { " for \((now - $0).shortText) (since \($0))" } ?? ""
        let next: String
        if !instance.coordinator.isHeld {
            next = "A probe goes as soon as a coordinator and a worker run"
        } else if let probe = circuitBreaker.nextProbe {
            next = probe > now ? "The next probe goes in \((probe - now).shortText)" : "The next probe is due now"
        } else if circuitBreaker.state == "halfOpen" {
            next = "A probe is under way"
        } else {
            next = "A probe goes when \(destination) is not held offline any more"
        }
        let mend =
            circuitBreaker.cause == "credential"
            ? "correct the credential for \(destination) in sluice.yaml, or what \(destination) grants it"
            : "remove the cause that \(destination) names"
        return WaitReason(
            name: "circuitBreaker",
            value: "the circuit breaker of \(destination) is open\(since): \(circuitBreaker.reason)",
            threshold: "a probe that \(destination) accepts",
            opens: "\(next); when one is accepted, all commands go at once (now \(circuitBreaker.waitingText)). "
                + "What a person can do: \(mend); no command has to be retried")
    }

    private func own(_ command: Command) -> [LinkReading] {
        links.filter { $0.destination == command.destination.text }
    }

    private func link(_ command: Command) throws(StoreError) -> WaitReason? {
        let destination = command.destination
        guard destination != .none else { return nil }
        if let held = try instance.overrides()[destination], held.override.isOffline {
            return WaitReason(
                name: "link", value: "\(destination) is held offline by a person since \(held.since)",
                threshold: "level auto", opens: "“sluice network set \(destination) --level auto” lifts it")
        }
        let isRunning = [.queued, .sent].contains(command.status)
        let own = own(command)
        // The gate of its circuit breaker says it, and what runs is not held back by it.
        if own.contains(where: { $0.circuitBreaker != nil && $0.level != "offline" }) { return nil }
        for link in own.isEmpty ? links.filter({ $0.destination == "*" }) : own {
            guard let gate = link.gates[command.qos.name] else { continue }
            // What lifts it stands at the end of the sentence, and here in a place of its own.
            let parts = gate.split(separator: LinkReport.remedy, maxSplits: 1)
            let remedy = parts.count == 2 ? String(parts[1]) : nil
            let isPace = gate.contains(LinkReport.throttles)
            let goes = isRunning || isPace ? "has all of the link" : "begins"
            let probe = link.nextProbe.map { "; the next probe goes at \($0)" } ?? ""
            return WaitReason(
                name: "link", value: String(parts.first ?? ""), threshold: remedy,
                opens: "It \(goes) when \(remedy == nil ? "the link lets it" : "that is so")\(probe)", isPace: isPace)
        }
        return nil
    }

    private func type(_ command: Command, _ alive: [Session]) throws(StoreError) -> WaitReason? {
        let cards = try store.settingsIfUsable(prefix: SettingKey.workerPrefix)
        var types: Set<String> = []
        for session in alive {
            // A worker that has not left its card yet may run anything.
            guard let card = cards[SettingKey.worker(seat: session.seat)].flatMap({ WorkerInfo(setting: $0) }),
                card.pid == session.pid
            else { return nil }
            if !card.isDraining { types.formUnion(card.types) }
        }
        guard !types.contains(command.type) else { return nil }
        return WaitReason(
            name: "type",
            value: types.isEmpty
                ? "every running worker is draining and takes nothing new"
                : "no running worker executes “\(command.type)”; they execute \(types.sorted().joined(separator: ", "))",
            threshold: "one that does", opens: "It begins when such a worker joins")
    }

    /// It was released lately. After a failure of its link it waits before it is offered again.
    private func linkWait(_ command: Command) -> WaitReason? {
        let age = now - command.updatedAt
        guard command.status == .new, command.claim > 0, command.destination != .none, instance.coordinator.isHeld,
            let reason = command.reason, age < Self.maxLinkWait
        else { return nil }
        return WaitReason(
            name: "linkWait", value: "it was released \(age.shortText) ago: \(reason)",
            threshold: "after a failure of the link a pause of 1 s, which doubles to a minute",
            opens: "It is offered again then, and sooner where \(command.destination) answers another command")
    }

    private static let maxLinkWait: Duration = .seconds(75)

    private func places(_ command: Command, workers: Int) throws(StoreError) -> WaitReason {
        let ahead = try ahead(of: command)
        let text = ahead.isComplete ? "\(ahead.count)" : "more than \(ahead.count)"
        return WaitReason(
            name: "places",
            value: "it is ready; \(text) ready \(ahead.count == 1 && ahead.isComplete ? "command is" : "commands are") "
                + "ahead of it, and \(workers) \(workers == 1 ? "worker is" : "workers are") running",
            threshold: "a free place and its turn", opens: "It begins when those ahead have begun")
    }

    /// Ready commands of its own quality and of better ones with an earlier turn. An estimate: ages and fairness among
    /// destinations move single commands.
    private func ahead(of command: Command) throws(StoreError) -> (count: Int, isComplete: Bool) {
        let limit = 1000
        var count = 0
        for shard in 0..<store.shardCount {
            let found = try store.ifUsable { () throws(StoreError) in try ahead(of: command, in: shard, limit: limit) }
            count += found ?? 0
            if count >= limit { return (limit, false) }
        }
        return (count, true)
    }

    private func ahead(of command: Command, in shard: Int, limit: Int) throws(StoreError) -> Int {
        var count = 0
        for key in try store.readyKeys(shard: shard) where key.qos >= command.qos && count < limit {
            let rows = try store.ready(
                shard: shard, destination: key.destination, qos: key.qos, afterTurn: 0, limit: limit)
            count += rows.count { $0.id < command.id || key.qos > command.qos && $0.id != command.id }
        }
        return count
    }
}

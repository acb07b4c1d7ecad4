internal import Commands
internal import Console
internal import Host
internal import NetworkControl
internal import Store

extension WaitExplainer {
    /// The circuit breaker of the destination, unless it is closed.
    func circuitBreaker(_ command: Command) -> WaitReason? {
        guard let circuitBreaker = own(command).lazy.compactMap(\.circuitBreaker).first else { return nil }
        let destination = command.destination
        let since = " for \((now - circuitBreaker.since).shortText) (since \(circuitBreaker.since))"
        let next: String
        if queue.coordinator == nil {
            next = "A probe goes as soon as a coordinator and a worker run"
        } else if let probe = circuitBreaker.nextProbe {
            next = probe > now ? "The next probe goes in \((probe - now).shortText)" : "The next probe is due now"
        } else if circuitBreaker.isProbing {
            next = "A probe is under way"
        } else {
            next = "A probe goes when \(destination) is no longer held offline"
        }
        let repair =
            switch circuitBreaker.cause {
            case .credential:
                "correct the credential for \(destination) in sluice.yaml, or what \(destination) grants it"
            case .unavailable: "find out why \(destination) answers 503; a command for another URL there goes at once"
            case .destination: "remove the cause that \(destination) names"
            }
        return WaitReason(
            "circuitBreaker", "the circuit breaker of \(destination) is open\(since): \(circuitBreaker.reason)",
            threshold: "a probe that \(destination) accepts",
            remedy: "\(next); when one is accepted, all commands go at once (now \(circuitBreaker.waitingText)). "
                + "What a person can do: \(repair); no command has to be retried", values: circuitBreaker.json)
    }

    private func own(_ command: Command) -> [LinkReport] {
        links.filter { $0.destination == command.destination.text }
    }

    /// The link of the destination, or the uplink where the destination has no link yet.
    func link(_ command: Command) throws(StoreError) -> WaitReason? {
        let destination = command.destination
        guard destination != .none else { return nil }
        if let held = try queue.overrides()[destination], held.override.isOffline {
            return WaitReason(
                "link", "\(destination) is held offline by a person since \(held.since)", threshold: "level auto",
                remedy: "“sluice network set \(destination) --level auto” lifts it",
                values: .object([.init("rule", "override"), .init("since", .string(held.since.description))]))
        }
        let isRunning = [.queued, .sent].contains(command.status)
        let own = own(command)
        // An open circuit breaker has a reason of its own, and does not hold back a running command.
        if own.contains(where: { $0.circuitBreaker != nil && $0.level != .offline }) { return nil }
        for link in own.isEmpty ? links.filter({ $0.destination == "*" }) : own {
            guard let wait = link.gates[command.qos] else { continue }
            let remedy = wait.remedy.map { LinkText.clause($0, of: link.destination) }
            let goes = isRunning || wait.isThrottle ? "has all of the link" : "begins"
            let probe = link.nextProbe.map { "; the next probe goes at \($0)" } ?? ""
            let since = wait.since.map { ", since \($0)" } ?? ""
            var reason = WaitReason(
                "link", LinkText.clause(wait, of: command.qos) + since, threshold: remedy,
                remedy: "It \(goes) when \(remedy == nil ? "the link lets it" : "that is so")\(probe)",
                values: wait.json)
            reason.isThrottle = wait.isThrottle
            return reason
        }
        return nil
    }

    /// A command that was released after a failure of its link waits before it is offered again.
    func linkWait(_ command: Command) -> WaitReason? {
        let age = now - command.updatedAt
        let wait = own(command).lazy.compactMap(\.failureWait).first ?? .unpublished
        guard command.status == .new, command.claim > 0, command.destination != .none, queue.coordinator != nil,
            let reason = command.reason, age < wait.longest
        else { return nil }
        return WaitReason(
            "linkWait", "it was released \(age.shortText) ago: \(reason)",
            threshold: "after a failure of the link a pause of \(AdmissionText.time(wait.first)), which doubles to "
                + AdmissionText.time(wait.limit),
            remedy: "It is offered again then, and sooner where \(command.destination) answers another command")
    }

    /// The rule of admission that holds the command back, while a coordinator runs. Nil for rules with a
    /// reason of their own.
    func admission(_ command: Command) -> WaitReason? {
        let destination = command.destination
        guard queue.coordinator != nil,
            let link = links.first(where: { $0.destination == destination.text && $0.direction == .up }),
            let wait = link.waits[command.qos]
        else { return nil }
        guard let text = AdmissionText(wait, of: destination, qos: command.qos) else { return nil }
        return WaitReason(
            wait.rule == .starts ? "rate" : wait.rule.rawValue, text.measured, threshold: text.threshold,
            remedy: text.remedy, values: wait.json)
    }
}

/// A rule of admission that holds commands of a destination back, as clauses.
struct AdmissionText {
    let measured: String
    let threshold: String
    let remedy: String

    /// - Returns: nil for rules that other readings explain: pauses, hours, levels and circuit breakers.
    init?(_ wait: AdmissionWait, of destination: Destination, qos: QualityOfService) {
        let running = wait.measured ?? 0
        let limit = wait.limit ?? 0
        /// `1 command runs`, `4 commands run`
        func run(_ noun: String) -> String { "\(running) \(noun)\(running == 1 ? " runs" : "s run")" }
        let ends = "It begins when one of them ends"
        let isLow = qos.serviceClass != .high
        switch wait.rule {
        case .maxConcurrency:
            measured = "\(destination) may have \(limit) at a time (“maxConcurrency”), and \(run("command")) there"
            threshold = "fewer than \(limit)"
            remedy = "\(ends); “maxConcurrency” in sluice.yaml allows more"
        case .pushback where limit == 0:
            measured = "\(destination) answered a moment ago that it takes no more (429 or 503)"
            threshold = "\(wait.threshold.map { Self.time(.seconds($0)) } ?? "a moment") without such an answer"
            remedy = "It begins then"
        case .pushback:
            measured =
                "\(destination) answers that it takes no more (429 or 503) when more than \(limit) "
                + "\(limit == 1 ? "command runs" : "commands run") there, and \(running) \(running == 1 ? "does" : "do") now"
            threshold = "fewer than \(limit) at a time"
            remedy = "\(ends); now and then one more is tried"
        case .slowStart:
            measured = "it is not known yet how much \(destination) takes at a time, and \(run("command")) there"
            threshold = "an answer to one of them"
            remedy = "Each answer allows more, up to what \(destination) refuses"
        case .linkLimit:
            measured = "\(run("transfer")) to \(destination), and more at a time would not be faster"
            threshold = "fewer than \(limit), as measured"
            remedy = "\(ends), or when the connection gets faster"
        case .uplinkLimit:
            measured =
                "\(run("transfer")) over the network connection of this machine, and more at a time would not be faster"
            threshold = "fewer than \(limit), as measured"
            remedy = "\(ends), or when the connection gets faster"
        case .probes:
            measured = "\(destination) has failed, and destinations that have failed are tried one after another"
            threshold = "its turn"
            let rate = wait.threshold.map { ": up to \(Int($0)) such destinations are tried in a second" }
            remedy = "It begins then\(rate ?? "")"
        case .untried:
            measured = "\(destination) was never reached, and first attempts at other such destinations are under way"
            threshold = "its turn"
            remedy = "It begins when one of those has answered or failed"
        case .fairShare:
            measured = "\(run("command")) at \(destination), and commands for other destinations are ready"
            threshold = "fewer than \(limit), so that others get their share"
            remedy = "\(ends), or when no other destination has one ready"
        case .slots:
            measured =
                "the workers execute as many commands \(isLow ? "" : "of high quality of service ")as they may, \(limit)"
            threshold = "the end of one of them, and its turn"
            remedy = "It begins then; “sluice worker” or a higher --concurrency executes more at a time"
        case .maxTransfers:
            measured = "\(run("transfer")), as many as “network.maxTransfers” allows"
            threshold = "fewer than \(limit)"
            remedy = "It begins when one of them ends and its turn comes"
        case .starts:
            measured = "as many commands have started at \(destination) as its “starts” allows in its time"
            threshold = "the next start"
            remedy =
                "It begins then, in its turn; “sluice network set \(destination) --starts” sets another rate"
        // These have reasons of their own.
        case .pause, .heldOffline, .hours, .offline, .circuitBreaker, .level: return nil
        }
    }

    /// A time in a sentence: `a quarter of a second`, `5 s`, `a minute`.
    static func time(_ time: Duration) -> String {
        switch time {
        case .milliseconds(250): "a quarter of a second"
        case .seconds(60): "a minute"
        case _ where time.components.attoseconds == 0: "\(time.components.seconds) s"
        default: time.shortText
        }
    }
}

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
}

internal import Commands
internal import Console
internal import NetworkControl

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

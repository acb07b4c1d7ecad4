internal import Commands
internal import NetworkControl

/// A rule of admission that holds commands of a destination back, as clauses.
struct AdmissionText {
    let measured: String
    let threshold: String
    let remedy: String

    /// - Returns: nil for rules that other readings explain: pauses, hours, levels and circuit breakers.
    init?(_ wait: AdmissionWait, of destination: Destination, qos: QualityOfService) {
        let held = wait.measured.map { "\($0) \($0 == 1 ? "slot" : "slots")" } ?? "slots"
        let limit = wait.limit ?? 0
        let others = "of middle and low quality of service"
        switch wait.rule {
        case .maxConcurrency:
            measured = "\(destination) holds \(held)"
            threshold = "fewer than \(limit), its “maxConcurrency”"
            remedy = "It begins when one of its commands ends"
        case .pushback where limit == 0:
            measured = "\(destination) refused a command a moment ago (429, 503)"
            threshold = "0.25 s without one"
            remedy = "It begins then"
        case .pushback:
            measured = "\(destination) holds \(held), and refuses more at once (429, 503)"
            threshold = "fewer than \(limit), as many as it has accepted"
            remedy = "It begins when one of its commands ends; one more is tried now and then"
        case .slowStart:
            measured = "\(destination) holds \(held), and has not shown yet that it accepts more at once"
            threshold = "fewer than \(limit), twice what it has accepted"
            remedy = "It begins when one of its commands is answered, or none has been refused for a second"
        case .linkLimit:
            measured = "\(destination) holds \(held) \(others)"
            threshold = "fewer than \(limit), the limit of its link"
            remedy = "It begins when one of its commands ends, or when the limit rises"
        case .uplinkLimit:
            measured = "the destinations behind its uplink hold \(held) \(others)"
            threshold = "fewer than \(limit), the limit of the uplink"
            remedy = "It begins when one of those commands ends, or when the limit rises"
        case .probes:
            measured = "\(destination) has failed, and such destinations are tried one after another"
            threshold = "its turn"
            remedy = "It begins then: together they have 25 attempts a second, and three quarters of the slots"
        case .untried:
            measured =
                "\(destination) was never tried, and such destinations together hold all slots that they may have"
            threshold = "a free one"
            remedy = "It begins when one of them has answered or failed, and its turn comes"
        case .fairShare:
            measured = "\(destination) holds \(held) \(others), and other destinations have commands ready"
            threshold = "fewer than \(limit), three quarters of all"
            remedy = "It begins when one of its commands ends, or when no other destination has one ready"
        case .slots:
            let whose = qos.serviceClass == .high ? "of high quality of service" : others
            measured = "all \(limit) slots \(whose) are taken"
            threshold = "a free one and its turn"
            remedy = "It begins when one of those commands ends; more workers add slots"
        case .maxTransfers:
            measured = "\(held) are held by transfers"
            threshold = "fewer than \(limit), “network.maxTransfers”"
            remedy = "It begins when one of them ends and its turn comes"
        case .starts:
            measured = "as many commands have started at \(destination) as its “starts” allows"
            threshold = "a token"
            remedy =
                "It begins when the next comes and its turn; “sluice network set \(destination) --starts” sets another"
        // These have reasons of their own.
        case .pause, .heldOffline, .hours, .offline, .circuitBreaker, .level: return nil
        }
    }
}

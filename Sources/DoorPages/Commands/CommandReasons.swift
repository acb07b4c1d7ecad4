internal import Commands
internal import Queue

/// Why a command does not run, or how it ended, and what a person can do: the first sentence is the answer.
struct CommandReasons {
    let visit: Visit
    let shown: ShownCommand

    private var command: Command { shown.command }

    var html: HTML {
        if let end { return sentence(end.text, end.remedy, isFirst: true) }
        var all = HTML()
        for (index, reason) in shown.reasons.enumerated() {
            all.append(sentence(text(of: reason), reason.remedy, isFirst: index == 0))
            if let link = link(reason) {
                all.append(tag(.p) { tag(.a, .href(visit.url(link.page))) { link.text } })
            }
        }
        return all
    }

    /// A command that has ended has its remedy as a button, so no command line is shown.
    private var end: (text: String, remedy: String)? {
        let reason = command.reason.map { ": \($0)" } ?? ""
        return switch command.status {
        case .success: ("It succeeded\(reason)", "Nothing more will happen")
        case .cancelled: ("It was cancelled\(reason)", "“Retry” runs it again")
        case .tooManyTimes: ("It was given up\(reason)", "“Retry” gives it all its tries again")
        case .inDoubt:
            (
                "It may have arrived, and must not be sent twice\(reason)",
                "Look at \(command.destination == .none ? "its effect" : command.destination.text), then settle it above"
            )
        default: nil
        }
    }

    private func sentence(_ text: String, _ remedy: String, isFirst: Bool) -> HTML {
        tag(.p, .class(isFirst ? "why" : "")) {
            tag(.bdi) { SentenceText(visit, of: command.id).html("\(text).") }
            tag(.span, .class("dim")) { SentenceText(visit, of: command.id).html(" \(remedy).") }
        }
    }

    /// The page of the rule that holds the command.
    private func link(_ reason: WaitReason) -> (page: PageLink, text: String)? {
        switch reason.name {
        case "rate": command.limit.map { (.limit($0), "The limit “\($0)”") }
        case "link", "linkWait", "circuitBreaker", "linkLimit", "pushback", "slowStart", "probes", "untried",
            "maxTransfers":
            command.destination == .none
                ? nil : (PageLink("links", "up", LinkView.part(command.destination.text)), "Its link")
        case "worker", "type", "slots", "places", "coordinator", "suspect": (.workers, "The workers")
        case "pause": (.overview, "The pauses")
        default: nil
        }
    }

    /// The measure with its threshold. The threshold of an event, such as the end of a pause, is its remedy too.
    private func text(of reason: WaitReason) -> String {
        let measured = reason.measured
        let isURL = measured.prefix { $0 != " " }.contains("://")
        let text = isURL ? measured : measured.prefix(1).uppercased() + measured.dropFirst()
        guard let threshold = reason.threshold, !Self.events.contains(reason.name) else { return text }
        return "\(text); it needs \(threshold)"
    }

    private static let events: Set<String> = [
        "pause", "notBefore", "backoff", "coordinator", "worker", "cancel", "doubt", "rate", "endpoint",
    ]
}

internal import Commands
internal import Console
internal import Door
internal import Queue

/// One command: why it waits, its timeline, its payload and its result.
struct CommandView {
    let visit: Visit
    let shown: ShownCommand
    /// The timeline's page ends before the transition with this `seq`; nil: the newest page.
    var before: Int64?

    private var command: Command { shown.command }
    private var url: PageURLs { visit.url }
    private var name: String { shown.name ?? command.type }

    var response: Response {
        visit.page(name, .commands) {
            head
            why
            CommandFacts(visit: visit, shown: shown).html
            timeline
            text("Payload", shown.payload, id: "payload")
            text("Result", shown.result, id: "result")
            if !shown.errorOutput.isEmpty {
                tag(.section, .class("panel")) {
                    tag(.h2) { "Error output" }
                    tag(.pre) { shown.errorOutput.joined(separator: "\n") }
                }
            }
        }
    }

    private var head: HTML {
        tag(.div, .class("head")) {
            tag(.div) {
                tag(.h1) {
                    tag(.bdi) { name }
                    if command.destination != .none { " → \(RowParts.destination(command.destination))" }
                }
                tag(.p, .data("s", "state")) {
                    command.status.html
                    tag(.span, .class("dim")) {
                        " · \(command.qos.name) · \(tries)"
                        if command.cancelRequested { " · cancellation requested" }
                    }
                }
            }
            if visit.mayControl { CommandButtons(visit: visit, shown: shown).html }
        }
    }

    private var tries: String {
        var text = command.claim == 0 ? "not begun" : command.claim == 1 ? "begun once" : "begun \(command.claim) times"
        if command.retries > 0 { text += " · retry \(command.retries) of \(command.retryLimit)" }
        if command.notBefore > visit.now, !command.status.isFinal {
            text += " · next in \((command.notBefore - visit.now).shortText)"
        }
        return text
    }

    private var why: HTML {
        tag(.section, .class("panel"), .the(.label, "Why"), .data("s", "why")) {
            CommandReasons(visit: visit, shown: shown).html
            if command.total > 0, command.status == .sent || command.status == .queued {
                RowParts.progress(command.offset, of: command.total, label: "Progress")
            }
        }
    }

    private var timeline: HTML {
        tag(.section, .class("panel"), .the(.labelledBy, "timeline-title")) {
            tag(.h2, .id("timeline-title")) { "Timeline" }
            tag(.div, .data("s", "timeline")) {
                pageLinks
                tag(.ol, .class("time")) {
                    for (index, transition) in shown.details.timeline.enumerated() {
                        row(transition, after: index > 0 ? shown.details.timeline[index - 1] : shown.details.previous)
                    }
                }
            }
        }
    }

    private var pageLinks: HTML {
        let earlier = shown.details.previous == nil ? nil : shown.details.timeline.first?.seq
        guard earlier != nil || before != nil else { return HTML() }
        return tag(.p, .class("more")) {
            if let earlier {
                tag(.a, .class("button"), .href(url(.command(command.id, before: earlier)))) { "Earlier steps" }
            }
            if before != nil {
                " "
                tag(.a, .href(url(.command(command.id)))) { "Newest steps" }
            }
        }
    }

    private func row(_ transition: Transition, after last: Transition?) -> HTML {
        tag(.li) {
            transition.at.exactHTML
            transition.status.html
            tag(.span) {
                if let reason = transition.reason { tag(.bdi) { SentenceText(visit, of: command.id).html(reason) } }
                if let seat = transition.seat {
                    tag(.span, .class("dim")) {
                        "\(transition.reason == nil ? "" : " · ")worker \(seat), claim \(transition.claim)"
                    }
                }
            }
            tag(.span, .class("gap num")) { last.map { Self.gap(transition.at - $0.at) } ?? "" }
        }
    }

    private static func gap(_ duration: Duration) -> String {
        duration < .seconds(1) ? "+\(max(duration.milliseconds, 0)) ms" : "+\(duration.shortText)"
    }

    private func text(_ title: String, _ text: StoredText?, id: String) -> HTML {
        guard let text else { return HTML() }
        return tag(.section, .class("panel"), .the(.labelledBy, "\(id)-title")) {
            tag(.div, .class("head")) {
                tag(.h2, .id("\(id)-title")) { "\(title) · \(Figures.bytes(Int64(text.size)))" }
                tag(
                    .button, .the(.type, "button"), .class("quiet"), .data("copy", id), .flag(.script),
                    .flag(.hidden)
                ) {
                    "copy"
                }
            }
            tag(.pre, .id(id), .the(.tabindex, "0"), .the(.label, title), .the(.role, "region")) { text.text }
            if text.isCut { tag(.p, .class("dim")) { "Only the first \(StoredText.maxShown / 1024) KiB are shown." } }
        }
    }
}

/// The buttons for what the status of a command allows.
struct CommandButtons {
    let visit: Visit
    let shown: ShownCommand

    private var command: Command { shown.command }

    var html: HTML {
        tag(.div, .class("acts"), .data("s", "acts")) {
            if [.error, .cancelled, .tooManyTimes].contains(command.status) {
                button(command.status == .error ? "Retry now" : "Retry", "retry", tone: "primary", key: "r")
            }
            if command.status == .tooManyTimes {
                button("Put away", "cancel", asks: "Put it away as cancelled? It can still be retried.", key: "c")
            }
            if command.status == .inDoubt {
                button("It arrived", "resolve", [("as", "success")])
                button("Send again", "resolve", [("as", "new")], asks: "Send it again? It may arrive twice.")
                button("Not needed", "resolve", [("as", "cancelled")])
            }
            if !command.status.isFinal {
                requalify
                button("Cancel", "cancel", tone: "danger", asks: "Cancel this command?", key: "c")
            }
        }
    }

    private var fields: HTML { RowParts.hidden("seen", shown.version) }

    private func button(
        _ text: String, _ verb: String, _ values: [(String, String)] = [], tone: String = "", asks: String? = nil,
        key: String? = nil
    ) -> HTML {
        tag(.form, .class("inline"), .the(.method, "post"), .action(visit.url(.action(verb, on: command.id)))) {
            if verb != "cancel" { fields }
            for (name, value) in values { RowParts.hidden(name, value) }
            tag(
                .button, .the(.type, "submit"), tone.isEmpty ? nil : .class(tone), asks.map { .data("ask", $0) },
                key.map { .data("key", $0) }
            ) { text }
        }
    }

    private var requalify: HTML {
        tag(.form, .class("inline"), .the(.method, "post"), .action(visit.url(.action("requalify", on: command.id)))) {
            fields
            tag(.label, .class("hide"), .the(.for, "qos")) { "Quality of service" }
            tag(.select, .the(.name, "qos"), .id("qos")) {
                for qos in QualityOfService.allCases {
                    tag(.option, .flag(.selected, qos == command.qos)) { qos.name }
                }
            }
            " "
            tag(.button, .the(.type, "submit")) { "Requalify" }
        }
    }
}

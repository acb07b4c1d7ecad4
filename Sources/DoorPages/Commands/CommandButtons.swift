internal import Commands

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

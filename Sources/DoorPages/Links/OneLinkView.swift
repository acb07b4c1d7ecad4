internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import NetworkControl
internal import Queue

/// The page of a link in one direction: its plot, its levels, and the settings of an operator.
struct OneLinkView {
    let visit: Visit
    let link: LinkReport
    let history: DoorLive.LinkChart
    let isPaused: Bool

    static func show(_ visit: Visit) async throws -> Response {
        let (name, direction) = try LinkSettings.link(of: visit)
        let known = visit.live.links.shown.first { $0.destination == name && $0.direction == direction }
        let destination = Destination(name)
        let isPaused = try await visit.services.read { queue in
            try queue.pauses().contains { $0.qos == nil && $0.destination == destination }
        }
        var link = known ?? LinkReport(destination: name, level: .unknown)
        link.direction = direction
        let history =
            visit.live.linkHistory[LiveLink(destination: name, direction: direction)] ?? DoorLive.LinkChart()
        return OneLinkView(visit: visit, link: link, history: history, isPaused: isPaused).response
    }

    private var key: String { LinkView.key(link) }

    private var response: Response {
        visit.page(LinkView.name(link), .links) {
            tag(.div, .class("head")) {
                tag(.div) {
                    tag(.h1) { tag(.bdi) { LinkView.name(link) } }
                    tag(.p) {
                        LinkView.level(link, key: key)
                        tag(.span, .class("dim"), .live("\(key)-reason")) {
                            LinkView.sentence(link).isEmpty ? "" : " · \(LinkView.sentence(link))"
                        }
                    }
                }
            }
            tag(.section, .class("panel"), .the(.labelledBy, "plot-title")) {
                tag(.h2, .id("plot-title")) { "Goodput, the last hour" }
                tag(.div, .data("s", "plot")) { LinkPlot(history: history, now: visit.now).html }
            }
            if visit.mayControl, Destination(link.destination) != nil { settings }
            figures
            levels
        }
    }

    private var figures: HTML {
        tag(.section, .class("panel"), .data("s", "figures"), .the(.label, "Figures")) {
            tag(.dl, .class("facts")) {
                if let destination = Destination(link.destination), link.direction == .up { commands(destination) }
                fact("Rate", Figures.rate(max(link.rate ?? link.goodput ?? 0, 0)))
                fact("In flight", "\(LinkView.slots(link).replacing("/", with: " of ")) transfers")
                if let reference = link.reference { fact("Usual", Figures.rate(reference)) }
                if let time = link.srtt { fact("Round trip", "\(time.milliseconds) ms") }
                if let remedy = link.remedy { fact("Lifted by", LinkText.clause(remedy, of: link.destination)) }
                if let probe = link.nextProbe {
                    tag(.dt) { "Next probe" }
                    tag(.dd) { probe.html(now: visit.now) }
                }
                if let rate = link.maxRate { fact("Limited to", Figures.rate(rate)) }
                for wait in waits where link.level != .offline { fact(wait.classes, wait.text) }
            }
        }
    }

    private func commands(_ destination: Destination) -> HTML {
        let cause = visit.live.waiting.first { $0.subject == .destination(destination) }
        var pair = tag(.dt) { "Commands" }
        pair.append(
            tag(.dd) {
                for (index, (word, status)) in [
                    (cause?.waitText ?? "none waits", "new"), ("to retry", "error"), ("all", ""),
                ].enumerated() {
                    if index > 0 { " · " }
                    let query = [("status", status), ("to", destination.text)].filter { !$0.1.isEmpty }
                    tag(.a, .href(visit.url(.commands(query)))) { word }
                }
            })
        // The head of the page says it of a link that is offline.
        if let cause, cause.isStopped, cause.kind != .link { pair.append(fact("They wait", cause.sentence)) }
        return pair
    }

    /// The qualities of service that wait, one entry a reason.
    private var waits: [(classes: String, text: String)] {
        var all: [(names: [String], text: String)] = []
        for qos in QualityOfService.allCases {
            guard let wait = link.gates[qos] else { continue }
            let text = LinkText.clause(wait, of: qos).replacing("; \(qos.name) has", with: "; the policy is")
            if let index = all.firstIndex(where: { $0.text == text }) {
                all[index].names.append(qos.name)
            } else {
                all.append(([qos.name], text))
            }
        }
        return all.map { entry in
            entry.names.count == QualityOfService.allCases.count
                ? ("All wait", entry.text) : (entry.names.joined(separator: ", ") + " wait", entry.text)
        }
    }

    private var levels: HTML {
        guard !history.levels.isEmpty else { return HTML() }
        return tag(.section, .class("panel"), .the(.labelledBy, "levels-title")) {
            tag(.h2, .id("levels-title")) { "Levels" }
            tag(.ol, .class("rows"), .data("s", "levels")) {
                for level in history.levels.suffix(20).reversed() {
                    tag(.li) {
                        level.since.html(now: visit.now)
                        level.name
                    }
                }
            }
        }
    }

    private var settings: HTML {
        tag(.section, .class("panel"), .the(.labelledBy, "settings-title")) {
            tag(.h2, .id("settings-title")) { "Settings" }
            tag(.div, .class("acts")) {
                button(link.isForced ? "Use as measured" : "Hold offline", "level", link.isForced ? "auto" : "offline")
                button(isPaused ? "Resume" : "Pause", "pause", isPaused ? "no" : "yes")
                tag(.form, .class("filter"), .the(.method, "post"), .action(visit.url(LinkView.page(link)))) {
                    tag(.label) {
                        tag(.span) { "Limit, such as 20Mbit or 250kB" }
                        tag(
                            .input, .the(.type, "text"), .the(.name, "rate"), .the(.size, "12"), .flag(.required),
                            .the(.value, link.maxRate.map { "\($0)" } ?? ""), .the(.maxlength, "20"))
                    }
                    tag(.button, .the(.type, "submit")) { "Limit" }
                }
                if link.maxRate != nil { button("No limit", "rate", "none") }
            }
            tag(.p, .class("dim")) {
                "Offline sends nothing there, not even a probe. A pause lets running commands continue. Both last until they "
                "are lifted."
            }
        }
    }

    private func button(_ text: String, _ name: String, _ value: String) -> HTML {
        RowParts.button(text, visit.url(LinkView.page(link)), fields: [(name, value)])
    }

    private func fact(_ name: String, _ value: String) -> HTML {
        var pair = tag(.dt) { name }
        pair.append(tag(.dd) { tag(.bdi) { value } })
        return pair
    }
}

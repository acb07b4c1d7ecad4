internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import Host
internal import NetworkControl
internal import Queue

/// The state that does not mend itself: each entry says what is wrong, and has the remedy beside it.
struct Attention {
    private struct Entry {
        /// Short, for the first column.
        var word: String
        var tone = "warn"
        var text: String
        var link: PageLink?
        var remedy = HTML()
    }

    private static let maxLinks = 3
    /// An attempt that has just failed may succeed in a moment.
    private static let minFailing: Duration = .seconds(60)

    private let visit: Visit
    private let pauses: [Pause]
    private let newest: [CommandStatus: Command]
    private let spool: SpoolView?

    init(_ visit: Visit) async throws(Problem) {
        self.visit = visit
        spool = await SpoolView.read(visit)
        let counts = visit.live.counts
        let statuses = [CommandStatus.inDoubt, .tooManyTimes].filter { counts[$0] > 0 }
        let hasPauses = !visit.live.pauses.isEmpty
        guard hasPauses || !statuses.isEmpty else {
            (pauses, newest) = ([], [:])
            return
        }
        (pauses, newest) = try await visit.services.read { queue in
            (hasPauses ? try queue.pauses() : [], try queue.newest(in: statuses))
        }
    }

    var html: HTML {
        let entries = entries
        guard !entries.isEmpty else { return HTML() }
        return tag(.section, .class("panel attention"), .the(.labelledBy, "attention-title")) {
            tag(.h2, .id("attention-title")) { entries.count == 1 ? "This needs you" : "These need you" }
            tag(.ul, .class("rows")) { for entry in entries { row(entry) } }
        }
    }

    private func row(_ entry: Entry) -> HTML {
        tag(.li) {
            RowParts.state(entry.word, glyph: entry.tone == "bad" ? "✕" : "!", tone: entry.tone)
            if let link = entry.link {
                tag(.a, .class("grow"), .href(visit.url(link))) { tag(.bdi) { entry.text } }
            } else {
                tag(.span, .class("grow")) { tag(.bdi) { entry.text } }
            }
            entry.remedy
        }
    }

    private var entries: [Entry] { processes + room + held + links + failing + commands }

    private var processes: [Entry] {
        let live = visit.live
        var entries = live.warnings.map { Entry(word: "store", tone: "bad", text: $0) }
        let waiting = live.counts[.new] + live.counts[.error]
        let count = "\(Figures.grouped(Int64(waiting))) command\(waiting == 1 ? " waits" : "s wait")"
        if !live.hearsCoordinator {
            let text =
                live.coordinatorPID.map { "Process \($0) has sent nothing for some seconds; \(count)." }
                ?? "No coordinator runs, so nothing starts; \(count)."
            entries.append(
                Entry(word: "coordinator", tone: "bad", text: text, link: .workers, remedy: Self.code("sluice up")))
        }
        if waiting > 0, !live.workers.contains(where: { $0.state == .ready }) {
            entries.append(
                Entry(
                    word: "workers", tone: "bad", text: "No worker takes commands; \(count).", link: .workers,
                    remedy: Self.code("sluice worker")))
        }
        return entries
    }

    private var room: [Entry] {
        guard let problem = spool?.problem else { return [] }
        return [
            Entry(
                word: "spool", tone: "bad", text: "\(problem.prefix(1).uppercased())\(problem.dropFirst())",
                link: .uploads)
        ]
    }

    private var held: [Entry] {
        let pauses = pauses.map { pause in
            var entry = Entry(word: "paused", text: "\(pause.scope.prefix(1).uppercased())\(pause.scope.dropFirst())")
            if let since = Timestamp(rfc3339: pause.since) {
                entry.text += ", for \((visit.now - since).roundText)"
            }
            if pause.qos == nil { entry.text += waiting(pause.destination?.text) }
            if visit.mayControl {
                entry.remedy = RowParts.button(
                    "resume", visit.url(PageLink("resume")), label: "Resume \(pause.scope)",
                    fields: [("qos", pause.qos?.name ?? ""), ("destination", pause.destination?.text ?? "")])
            }
            return entry
        }
        return pauses
            + visit.live.relations.schedules.held.prefix(2).map { held in
                Entry(word: "schedule", text: "“\(held.name)” does not fire: \(held.reason)", link: .schedules)
            }
    }

    private var links: [Entry] {
        let down = visit.live.links.shown.filter { $0.level == .offline || $0.circuitBreaker != nil }
        var entries = down.prefix(Self.maxLinks).map { link in
            let sentence = LinkView.sentence(link)
            return Entry(
                word: link.circuitBreaker == nil ? "offline" : "no answer", tone: "bad",
                text: (sentence.isEmpty ? LinkView.name(link) : LinkView.statement(link)) + waiting(link.destination),
                link: LinkView.page(link))
        }
        if down.count > Self.maxLinks {
            entries.append(
                Entry(
                    word: "offline", tone: "bad", text: "\(down.count - Self.maxLinks) more links carry nothing",
                    link: .links))
        }
        return entries
    }

    /// Causes that no level of a link and no pause shows, once they have lasted.
    private var failing: [Entry] {
        let causes = visit.live.waiting.filter { $0.kind == .failing && visit.now - $0.since > Self.minFailing }
        return causes.prefix(Self.maxLinks).map { cause in
            let page: PageLink? =
                switch cause.subject {
                case .destination(let destination) where destination != .none:
                    PageLink("links", "up", LinkView.part(destination.text))
                case .limit(let name): .limit(name)
                default: nil
                }
            return Entry(word: "held up", text: "\(cause.sentence) · \(cause.waitText)", link: page)
        }
    }

    /// The commands of a destination that wait.
    private func waiting(_ destination: String?) -> String {
        let cause = visit.live.waiting.first { cause in
            if case .destination(let other) = cause.subject { other.text == destination } else { false }
        }
        return cause.map { " · \($0.waitText)" } ?? ""
    }

    private var commands: [Entry] {
        [(CommandStatus.inDoubt, "may have arrived, and wait for a decision"), (.tooManyTimes, "gave up")].compactMap {
            status, words in
            let count = visit.live.counts[status]
            guard count > 0 else { return nil }
            let reason = newest[status]?.reason.map { " · newest: \($0)" } ?? ""
            return Entry(
                word: status.word, tone: status.tone,
                text: "\(Figures.grouped(Int64(count))) command\(count == 1 ? "" : "s") \(words)\(reason)",
                link: .commands([("status", status.name)]))
        }
    }

    private static func code(_ text: String) -> HTML { tag(.code) { text } }
}

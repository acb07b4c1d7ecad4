internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import Host
internal import Store

/// The commands that only a person can bring on: those in doubt, and dead letters.
struct Attention {
    private static let shown = 3

    private var newest: [Command] = []

    init(_ visit: Visit) async throws(Problem) {
        let counts = visit.live.counts
        guard counts[.inDoubt] + counts[.tooManyTimes] > 0 else { return }
        newest = try await visit.services.store { store throws(StoreError) in
            var all: [Command] = []
            for status in [CommandStatus.inDoubt, .tooManyTimes] {
                all += try store.page(
                    CommandFilter(status: status), order: .newestFirst, after: nil, limit: Self.shown,
                    until: .now + .milliseconds(100)
                ).commands
            }
            return all
        }
    }

    func html(_ visit: Visit) -> HTML {
        let counts = visit.live.counts
        let (doubts, letters) = (counts[.inDoubt], counts[.tooManyTimes])
        guard doubts + letters > 0 else { return HTML() }
        let parts = [
            doubts > 0 ? "\(Figures.grouped(Int64(doubts))) in doubt" : nil,
            letters > 0 ? "\(Figures.grouped(Int64(letters))) gave up" : nil,
        ]
        return tag(.section, .class("panel attention"), .the(.labelledBy, "attention-title")) {
            tag(.h2, .id("attention-title")) {
                tag(.span, .the(.hidden, "true")) { "! " }
                "\(Figures.grouped(Int64(doubts + letters))) need\(doubts + letters == 1 ? "s" : "") you: "
                parts.compactMap(\.self).joined(separator: ", ")
            }
            tag(.ul, .class("rows")) {
                for command in newest.prefix(Self.shown) {
                    tag(.li) {
                        command.status.html
                        tag(.a, .class("grow"), .href(visit.url(.command(command.id)))) {
                            tag(.bdi) { "\(command.type) \(RowParts.destination(command.destination))" }
                        }
                        tag(.span, .class("dim cut")) { tag(.bdi) { command.reason ?? "" } }
                        command.updatedAt.html(now: visit.now)
                    }
                }
            }
            tag(.p) {
                if doubts > 0 { tag(.a, .href(visit.url(.commands([("status", "inDoubt")])))) { "All in doubt" } }
                if doubts > 0, letters > 0 { " · " }
                if letters > 0 {
                    tag(.a, .href(visit.url(.commands([("status", "tooManyTimes")])))) { "All that gave up" }
                }
            }
        }
    }
}

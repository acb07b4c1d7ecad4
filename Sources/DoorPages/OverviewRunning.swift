internal import Commands
internal import Console
internal import DoorLive

/// The commands that workers execute, the longest running first.
struct OverviewRunning {
    private static let shown = 12

    let visit: Visit
    private let running: [RunningCommand]

    init(_ visit: Visit) {
        self.visit = visit
        running = visit.live.workers.flatMap(\.running).sorted { $0.since < $1.since }
    }

    var html: HTML {
        tag(.section, .class("panel"), .the(.labelledBy, "running-title")) {
            tag(.h2, .id("running-title")) {
                "Running"
                tag(.a, .class("all"), .href(visit.url(.commands([("status", "sent")])))) { "all \(running.count)" }
            }
            if running.isEmpty {
                tag(.p, .class("dim")) { "No command is running." }
            } else {
                tag(.ul, .class("rows")) { for command in running.prefix(Self.shown) { row(command) } }
                if running.count > Self.shown {
                    tag(.p, .class("dim")) { "The \(Self.shown) that run longest." }
                }
            }
        }
    }

    private func row(_ command: RunningCommand) -> HTML {
        let key = "run-\(command.id)"
        let progress = command.progress
        return tag(.li, .class("running"), .data("row", command.id.description)) {
            RowParts.shortID(command.id)
            tag(.a, .class("grow"), .href(visit.url(.command(command.id)))) {
                tag(.bdi) { command.name ?? command.type }
                if command.destination != .none {
                    tag(.span, .class("dim")) { " → \(RowParts.destination(command.destination))" }
                }
            }
            if progress.total > 0 || progress.offset > 0 {
                RowParts.progress(
                    progress.offset, of: progress.total, label: "Progress of \(command.name ?? command.type)", key: key)
            } else {
                tag(.span, .class("prog"))
            }
            tag(.span, .class("num rate"), .live("\(key)-rate")) {
                progress.rate > 0 ? Figures.rate(progress.rate) : ""
            }
            tag(.span, .class("num dim rate"), .live("\(key)-left")) {
                left(progress) ?? "for \((visit.now - command.since).roundText)"
            }
            if visit.mayControl {
                RowParts.button(
                    "cancel", visit.url(.action("cancel", on: command.id)),
                    label: "Cancel \(command.name ?? command.type)",
                    tone: "quiet", fields: [("back", visit.ownPath)], asks: "Cancel this command?")
            }
        }
    }

    private func left(_ progress: CommandProgress) -> String? {
        guard progress.rate > 0, progress.total > progress.offset else { return nil }
        return "\(Duration.seconds((progress.total - progress.offset) / progress.rate).shortText) left"
    }
}

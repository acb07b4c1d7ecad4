internal import Commands
internal import Console
internal import Door
internal import DoorLive

/// The workers, and what each executes.
struct WorkersPage: Sendable {
    let route: PageRoute

    var endpoints: [Endpoint] { [route.page("/workers", Self.show)] }

    private static func show(_ visit: Visit) async throws -> Response {
        let live = visit.live
        return visit.page("Workers", .workers) {
            tag(.h1, .class("hide")) { "Workers" }
            tag(.p, .live("coordinator")) {
                live.coordinatorPID.map { "The coordinator is process \($0)." }
                    ?? "No coordinator runs: start it with “sluice up”."
            }
            if live.workers.isEmpty {
                tag(.p, .class("empty")) { "No worker runs. “sluice worker” starts one." }
            } else {
                table(visit)
            }
        }
    }

    private static func table(_ visit: Visit) -> HTML {
        tag(.table, .class("list")) {
            tag(.thead) {
                tag(.tr) {
                    for title in ["Worker", "State", "In flight", "Types", "Runs longest"] {
                        tag(.th, .the(.scope, "col")) { title }
                    }
                }
            }
            tag(.tbody, .data("s", "workers")) { for worker in visit.live.workers { row(worker, visit) } }
        }
    }

    private static func row(_ worker: WorkerReading, _ visit: Visit) -> HTML {
        let (glyph, tone) =
            switch worker.state {
            case .ready: ("✓", "ok")
            case .draining: ("◔", "warn")
            case .frozen: ("!", "warn")
            case .lost, .stalled: ("✕", "bad")
            }
        return tag(.tr, .data("row", "worker-\(worker.seat)")) {
            tag(.td) {
                "\(worker.seat) "
                tag(.span, .class("dim")) { "pid \(worker.pid)" }
            }
            tag(.td) { RowParts.state(worker.state.rawValue, glyph: glyph, tone: tone) }
            tag(.td, .class("num"), .data("l", "in flight")) {
                worker.concurrency.map { "\(worker.inFlight)/\($0)" } ?? "\(worker.inFlight)"
            }
            tag(.td, .class("dim"), .data("l", "types")) {
                worker.isLimited ? (worker.types ?? []).joined(separator: ", ") : "all"
            }
            tag(.td, .class("c-reason")) {
                if let longest = worker.running.first {
                    tag(.a, .href(visit.url(.command(longest.id)))) { tag(.bdi) { longest.name ?? longest.type } }
                    tag(.span, .class("dim")) { " \((visit.now - longest.since).shortText)" }
                }
            }
        }
    }
}

internal import Commands
internal import Console
internal import Store

/// An upload in a list.
struct UploadRow {
    /// Without a byte for this time an open upload is stalled.
    private static let stall: Duration = .seconds(15)

    let upload: Upload
    let visit: Visit

    init(_ upload: Upload, _ visit: Visit) {
        self.upload = upload
        self.visit = visit
    }

    private var name: String { upload.facts.fileName ?? upload.id.description }
    private var key: String { "up-\(upload.id)" }

    var item: HTML {
        tag(.li, .class("running"), .data("row", upload.id.description)) {
            RowParts.shortID(upload.id)
            tag(.span, .class("grow")) {
                tag(.bdi) { name }
                if let route = upload.facts.route { tag(.span, .class("dim")) { " → \(route)" } }
            }
            if upload.state == .open {
                RowParts.progress(upload.offset, of: upload.length ?? 0, label: "Progress of \(name)", key: key)
            } else {
                tag(.span, .class("num")) { Figures.bytes(upload.offset) }
            }
            tag(.span, .live("\(key)-state"), .class("upstate")) { state }
            end
        }
    }

    private var state: String {
        switch upload.state {
        case .open:
            let idle = visit.now - upload.updatedAt
            return idle > Self.stall ? "stalled \(idle.roundText)" : "receiving"
        case .complete: return upload.command == nil ? "stored" : "done"
        case .ended: return upload.reason ?? "ended"
        }
    }

    private var end: HTML {
        if let command = upload.command {
            return tag(.a, .href(visit.url(.command(command)))) { "its command" }
        }
        guard upload.state != .ended, visit.mayControl else { return upload.createdAt.html(now: visit.now) }
        return RowParts.button(
            "remove", visit.url(PageLink("uploads", upload.id.description, "remove")), label: "Remove \(name)",
            tone: "quiet", fields: [("back", visit.ownPath)], asks: "Remove this upload and its bytes?")
    }
}

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
        tag(.li, .class("up"), .data("row", upload.id.description)) {
            RowParts.shortID(upload.id)
            tag(.span, .class("grow")) {
                tag(.bdi) { name }
                if let route = upload.facts.route { tag(.span, .class("dim")) { " → \(route)" } }
            }
            tag(.span, .class("num dim rate"), .live("\(key)-size")) { size }
            if upload.state == .open {
                RowParts.progress(upload.offset, of: upload.length ?? 0, label: "Progress of \(name)", key: key)
            } else {
                tag(.span, .class("prog"))
            }
            tag(.span, .live("\(key)-state"), .class("upstate \(isStalled ? "warn" : "")")) { tag(.bdi) { state } }
            tag(.span, .class("end")) { end }
        }
    }

    private var size: String {
        guard upload.state == .open, let length = upload.length else { return Figures.bytes(upload.offset) }
        return "\(Figures.bytes(upload.offset)) of \(Figures.bytes(length))"
    }

    private var isStalled: Bool { upload.state == .open && visit.now - upload.updatedAt > Self.stall }

    private var state: String {
        switch upload.state {
        case .open: return isStalled ? "stalled \((visit.now - upload.updatedAt).roundText)" : "receiving"
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

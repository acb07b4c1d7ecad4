internal import Commands
internal import Console
internal import Door
internal import Queue

/// An upload in a list.
struct UploadRow {
    /// Without a byte for this time an open upload is stalled.
    private static let stall: Duration = .seconds(15)

    let upload: Upload
    let visit: Visit
    /// The name of the token that created it; nil where it was removed.
    private let token: String?

    /// - Parameter tokens: the names of ``tokens(of:_:)``.
    init(_ upload: Upload, _ tokens: [String: String], _ visit: Visit) {
        self.upload = upload
        self.visit = visit
        token = upload.facts.tokenName ?? upload.facts.token.flatMap { tokens[$0] }
    }

    /// The names of the tokens that have created uploads of earlier releases, by their public ids. A token that was removed
    /// has none.
    static func tokens(of uploads: [Upload], _ queue: QueueAccess) throws -> [String: String] {
        let ids = Set(uploads.filter { $0.facts.tokenName == nil }.compactMap(\.facts.token))
        return ids.isEmpty ? [:] : try TokenStore(queue).names(of: ids)
    }

    private var name: String { upload.facts.fileName ?? upload.id.description }
    private var key: String { "up-\(upload.id)" }

    var item: HTML {
        tag(.li, .class("up"), .data("row", upload.id.description)) {
            RowParts.shortID(upload.id)
            tag(.span, .class("grow")) {
                tag(.bdi) { name }
                tag(.span, .class("dim")) {
                    if let route = upload.facts.route { " → \(route)" }
                    if let token { " by “\(token)”" }
                }
            }
            tag(.span, .class("num dim rate"), .live("\(key)-size")) { size }
            if upload.state == .open {
                RowParts.progress(upload.offset, of: upload.length ?? 0, label: "Progress of \(name)", key: key)
            } else {
                tag(.span, .class("prog"))
            }
            tag(.span, .live("\(key)-state"), .class("upstate \(isStalled ? "warn" : "")")) {
                tag(.bdi) { state }
                " "
                (upload.state == .open ? upload.createdAt : upload.updatedAt).html(now: visit.now)
            }
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
        guard upload.state != .ended, visit.mayControl else { return HTML() }
        return RowParts.button(
            "remove", visit.url(PageLink("uploads", upload.id.description, "remove")), label: "Remove \(name)",
            tone: "quiet", fields: [("back", visit.ownPath)], asks: "Remove this upload and its bytes?")
    }
}

internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Logging
internal import Queue
internal import UploadSpool
internal import Uploads

/// The uploads: those that are open, and those that have ended.
struct UploadsPage: Sendable {
    private static let shown = 50

    let route: PageRoute

    var endpoints: [Endpoint] {
        [route.page("/uploads", Self.show), route.action("/uploads/{id}/remove", Self.remove)]
    }

    private static func show(_ visit: Visit) async throws -> Response {
        let (open, over, tokens) = try await visit.services.read { queue in
            let open = try queue.uploads(.open, limit: shown).uploads
            let over =
                try queue.uploads(.complete, limit: shown).uploads + queue.uploads(.ended, limit: shown).uploads
            return (open, over, try UploadRow.tokens(of: open + over, queue))
        }
        let spool = await SpoolView.read(visit)
        return visit.page("Uploads", .uploads) {
            tag(.div, .class("head")) {
                tag(.h1) { "Uploads in" }
                if visit.mayUpload { tag(.a, .class("button primary"), .href(visit.url(.upload))) { "+ Upload" } }
            }
            if let spool { spool.html }
            list("Open", "open", open, tokens, visit, empty: "No upload comes in now.")
            list(
                "Ended", "over", Array(over.sorted { $0.updatedAt > $1.updatedAt }.prefix(shown)), tokens, visit,
                empty: "No upload has ended yet.")
        }
    }

    private static func list(
        _ title: String, _ key: String, _ uploads: [Upload], _ tokens: [String: String], _ visit: Visit, empty: String
    ) -> HTML {
        tag(.section, .class("panel"), .the(.labelledBy, "\(key)-title")) {
            tag(.h2, .id("\(key)-title")) { title }
            tag(.div, .data("s", key)) {
                if uploads.isEmpty {
                    tag(.p, .class("dim")) { empty }
                } else {
                    tag(.ul, .class("rows")) { for upload in uploads { UploadRow(upload, tokens, visit).item } }
                }
            }
        }
    }

    private static func remove(_ visit: Visit, _ form: FormFields) async throws -> Response {
        guard let id = CommandID(visit.request.parameters["id"] ?? "") else {
            throw Problem(.notFound, "not-found", "The id of an upload is a UUID.")
        }
        do throws(UploadError) {
            try await visit.services.context.uploads.terminate(id)
        } catch {
            return visit.done("\(error.message)", isProblem: true, back: form["back"], or: .uploads)
        }
        visit.services.context.logger.notice(
            "An upload was removed.", metadata: ["upload": "\(id)", "by": "\(visit.request.actor)"])
        return visit.done("The upload and its bytes are removed.", back: form["back"], or: .uploads)
    }
}

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

/// The room of the spool, for a person.
struct SpoolView {
    let figures: SpoolFigures

    /// Nil where the disk cannot be asked.
    static func read(_ visit: Visit) async -> SpoolView? {
        do throws(UploadError) {
            return SpoolView(figures: try await visit.services.context.uploads.spoolFigures())
        } catch {
            return nil
        }
    }

    /// Why uploads of any size are refused; nil while there is room.
    var problem: String? { figures.problem }

    var html: HTML {
        tag(.p, .class(problem == nil ? "dim" : "bad"), .live("spool")) {
            "Spool: \(figures.summary)."
            if let problem { " \(problem.prefix(1).uppercased())\(problem.dropFirst())." }
        }
    }
}

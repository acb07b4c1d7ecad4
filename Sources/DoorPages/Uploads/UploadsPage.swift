internal import Commands
internal import Console
internal import Door
internal import Hummingbird
internal import Logging
internal import Queue
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

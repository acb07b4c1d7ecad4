internal import Commands
internal import Console
internal import Door
internal import DoorLive

/// The uploads that come in.
struct OverviewUploads {
    private static let shown = 6

    let visit: Visit
    private let uploads: [Upload]
    private let tokens: [String: String]

    init(_ visit: Visit) async throws(Problem) {
        self.visit = visit
        let uploads = visit.live.uploads.filter { $0.state == .open }
        self.uploads = uploads
        tokens =
            uploads.isEmpty
            ? [:]
            : try await visit.services.read { queue in
                try UploadRow.tokens(of: Array(uploads.prefix(Self.shown)), queue)
            }
    }

    var html: HTML {
        guard !uploads.isEmpty else { return HTML() }
        return tag(.section, .class("panel"), .the(.labelledBy, "uploads-title")) {
            tag(.h2, .id("uploads-title")) {
                "Uploads in"
                tag(.a, .class("all"), .href(visit.url(.uploads))) { "all" }
            }
            tag(.ul, .class("rows")) {
                for upload in uploads.prefix(Self.shown) { UploadRow(upload, tokens, visit).item }
            }
        }
    }
}

internal import Commands
internal import Console
internal import DoorLive
internal import Store

/// The uploads that come in.
struct OverviewUploads {
    private static let shown = 6

    let visit: Visit

    init(_ visit: Visit) { self.visit = visit }

    var html: HTML {
        let uploads = visit.live.uploads.filter { $0.state == .open }
        guard !uploads.isEmpty else { return HTML() }
        return tag(.section, .class("panel"), .the(.labelledBy, "uploads-title")) {
            tag(.h2, .id("uploads-title")) {
                "Uploads in"
                tag(.a, .class("all"), .href(visit.url(.uploads))) { "all" }
            }
            tag(.ul, .class("rows")) {
                for upload in uploads.prefix(Self.shown) { UploadRow(upload, visit).item }
            }
        }
    }
}

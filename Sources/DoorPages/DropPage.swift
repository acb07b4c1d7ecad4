internal import Console
internal import Door
internal import UploadSpool
internal import Uploads

/// The page that sends files: a script speaks tus, so that an upload goes on after a cut or a reload. Without a script it
/// is a form.
struct DropPage: Sendable {
    let route: PageRoute

    var endpoints: [Endpoint] { [route.page("/upload", scopes: [.upload], Self.show)] }

    private static func show(_ visit: Visit) async throws -> Response {
        let context = visit.services.context
        let names = context.routes.names(for: visit.principal)
        let needsRoute = visit.principal?.routes != nil
        let limit = context.uploads.limits.maxSize
        return visit.page("Upload", .upload) {
            tag(.h1) { "Upload" }
            if needsRoute, names.isEmpty {
                tag(.p, .class("notice bad")) { "This token may use no route, so it cannot upload." }
            } else {
                form(visit, names, needsRoute: needsRoute, limit)
                tag(.section, .class("panel"), .the(.label, "Files of this page")) {
                    tag(.ul, .class("rows"), .id("transfers"), .the(.live, "off")) {}
                    tag(.p, .class("dim")) {
                        "Up to \(Figures.bytes(limit)) a file. A file that was cut goes on where it stopped: after a reload, "
                        "choose it again. "
                        if visit.mayRead { tag(.a, .href(visit.url(.uploads))) { "All uploads" } }
                    }
                }
            }
        }
    }

    private static func form(_ visit: Visit, _ names: [String], needsRoute: Bool, _ limit: Int64) -> HTML {
        let target = visit.url(PageLink("uploads"))
        return tag(
            .form, .class("panel drop"), .id("drop"), .the(.method, "post"), .the(.enctype, "multipart/form-data"),
            .action(target), .data("endpoint", target), .data("max", "\(limit)")
        ) {
            if !names.isEmpty {
                tag(.label) {
                    "Route "
                    tag(.select, .the(.name, "route")) {
                        if !needsRoute { tag(.option, .the(.value, "")) { "none: keep it in the spool" } }
                        for name in names {
                            let known = visit.services.context.routes.route(name)
                            let size = known?.maxSize
                            tag(
                                .option, .the(.value, name), size.map { .data("max", "\($0)") },
                                known?.replacesByName == true ? .data("named", "1") : nil
                            ) {
                                size.map { "\(name) (up to \(Figures.bytes($0)))" } ?? name
                            }
                        }
                    }
                }
            }
            tag(.p, .flag(.script), .flag(.hidden)) {
                "Drop files or a folder anywhere on this page, paste files, or choose them:"
            }
            tag(
                .input, .the(.type, "file"), .the(.name, "file"), .id("file"), .flag(.multiple), .the(.label, "Files"))
            tag(.label, .class("folder"), .flag(.script), .flag(.hidden)) {
                "or a folder "
                tag(.input, .the(.type, "file"), .id("folder"), .flag(.folder), .the(.label, "A folder"))
            }
            tag(.button, .the(.type, "submit"), .class("primary"), .data("plain", "1")) { "Upload" }
        }
    }
}

internal import Commands
internal import Console
internal import Door
internal import DoorLive

/// The parts that all pages have: the head, the navigation, the search and the menu of the session.
struct PageFrame {
    let visit: Visit
    let title: String
    let section: PageSection?
    /// An error does not change, so its page is not read again.
    let isLive: Bool

    init(_ visit: Visit, title: String, section: PageSection?, isLive: Bool = true) {
        self.visit = visit
        self.title = title
        self.section = section
        self.isLive = isLive
    }

    private var url: PageURLs { visit.url }

    func html(_ content: HTML) -> HTML {
        tag(.html, .the(.lang, "en")) {
            head
            body(content)
        }
    }

    private var head: HTML {
        tag(.head) {
            tag(.meta, .the(.charset, "utf-8"))
            tag(.meta, .the(.name, "viewport"), .the(.content, "width=device-width, initial-scale=1"))
            tag(.meta, .the(.name, "color-scheme"), .the(.content, "light dark"))
            tag(.title) { "\(title) · Sluice" }
            tag(.link, .the(.rel, "stylesheet"), .href(url(.asset("style.css"))))
            tag(.link, .the(.rel, "icon"), .the(.type, "image/svg+xml"), .href(url(.asset("icon.svg"))))
            if visit.principal != nil {
                tag(.script, .src(url(.asset("live.js"))), .flag(.deferred))
                if section == .upload { tag(.script, .src(url(.asset("upload.js"))), .flag(.deferred)) }
            }
        }
    }

    private func body(_ content: HTML) -> HTML {
        tag(
            .body, .data("events", url(PageLink("api", "v1", "events", query: [("stream", "view")]))),
            .data("root", url(.overview)), .data("stream", url(.asset("stream.js")))
        ) {
            tag(.a, .class("skip"), .href(url.fragment("main"))) { "Skip to the content" }
            header
            tag(.main, .id("main"), .the(.tabindex, "-1")) {
                noticeBar
                content
            }
        }
    }

    private var header: HTML {
        tag(.header, .class("bar")) {
            tag(.a, .class("brand"), .href(url(.overview))) { "Sluice" }
            if visit.principal != nil {
                tag(.details, .class("pages")) {
                    tag(.summary) { "☰ \(section?.title ?? "Pages")" }
                    tag(.nav, .the(.label, "Pages")) {
                        for entry in sections { link(entry) }
                    }
                    if visit.mayRead { search }
                }
                if isLive { state } else { tag(.span, .class("live")) }
                session
            }
        }
    }

    private var sections: [PageSection] {
        PageSection.allCases.filter { $0 == .upload ? visit.mayUpload : visit.mayRead }
    }

    private func link(_ entry: PageSection) -> HTML {
        tag(
            .a, .href(url(entry.link)), .data("go", entry.key), entry == section ? .the(.current, "page") : nil
        ) { entry.title }
    }

    private var search: HTML {
        tag(.form, .class("search"), .the(.role, "search"), .action(url(.commands))) {
            tag(
                .input, .the(.type, "search"), .the(.name, "q"), .id("search"), .the(.label, "Find commands"),
                .the(.placeholder, "Find: id, file, reason"), .the(.autocomplete, "off"), .the(.spellcheck, "false"),
                .the(.maxlength, "200"))
        }
    }

    /// Whether the data is of now. The script takes it over.
    private var state: HTML {
        let live = visit.live
        let age = visit.now - live.asOf
        return tag(.span, .class("live \(live.hearsCoordinator ? "on" : "off")"), .id("live"), .the(.role, "status")) {
            tag(.span, .class("dot"), .the(.hidden, "true"))
            tag(.span, .class("word"), .title("Pause with p")) {
                if live.hearsCoordinator {
                    "as of \(age < .seconds(2) ? "now" : "\(age.shortText) ago")"
                } else {
                    "no coordinator"
                }
            }
        }
    }

    private var session: HTML {
        tag(.details, .class("menu")) {
            tag(.summary) { tag(.bdi) { visit.principal?.name ?? "" } }
            tag(.div, .class("sheet")) {
                tag(.p, .class("dim")) { "Token “\(visit.principal?.name ?? "")”" }
                tag(.p, .class("dim")) {
                    (visit.principal?.scopes.map(\.rawValue).sorted() ?? []).joined(separator: ", ")
                }
                tag(
                    .button, .the(.type, "button"), .data("pause", "1"), .flag(.script), .flag(.hidden)
                ) { "Pause updates" }
                tag(.a, .href(url(.keys))) { "Keys" }
                if visit.principal?.isSession == true {
                    tag(.form, .the(.method, "post"), .action(url(.logout))) {
                        tag(.button, .the(.type, "submit")) { "Log out" }
                    }
                }
            }
        }
    }

    private var noticeBar: HTML {
        guard let notice = visit.notice else { return HTML() }
        return tag(
            .p, .class("notice\(notice.isProblem ? " bad" : "")"), .the(.role, notice.isProblem ? "alert" : "status")
        ) { notice.text }
    }
}

extension Attribute {
    static func title(_ text: String) -> Attribute { .the(.title, text) }
}

import Commands
import Door
import HTTPTypes
import Queue
import Store
import TestSupport
import Testing

@testable import DoorPages

struct PageTests {
    private static let pages = [
        "/", "/commands", "/links", "/links/up/https:media.example.com:443", "/workers", "/uploads", "/upload",
        "/flows", "/batches", "/schedules", "/limits", "/keys", "/login",
    ]

    @Test(arguments: pages)
    func `each page has the fields of security, and nothing inline`(path: String) async throws {
        try await PagesRig.with(basePath: "/sluice") { rig in
            try await rig.logIn()
            let page = try await rig.get(path)
            #expect(page.status == 200, "\(page.text)")
            #expect(page[.contentType] == "text/html; charset=utf-8" && page[.cacheControl] == "no-store")
            #expect(page[.contentSecurityPolicy]?.hasPrefix("default-src 'none'; script-src 'self'") == true)
            #expect(page[.crossOriginOpenerPolicy] == "same-origin")
            #expect(page[.crossOriginResourcePolicy] == "same-origin" && page[.referrerPolicy] == "same-origin")
            #expect(!page.text.contains(" style=") && !page.text.contains("<style") && !page.text.contains("<script>"))
            #expect(!page.text.lowercased().contains(" on") || page.values(of: "onclick").isEmpty)
            for name in ["href", "src", "action"] {
                for url in page.values(of: name) where !url.hasPrefix("#") {
                    #expect(url.hasPrefix("/sluice/"), "\(url)")
                }
            }
            #expect(page.text.utf8.count <= 30_000)
        }
    }

    @Test func `a hostile name stays a text in the list and on its own page`() async throws {
        let name = "\"><svg onload=alert(1)>\u{202E}gpj"
        try await PagesRig.with { rig in
            try await rig.logIn()
            let payload = JSONValue.object([
                .init("file", .string("/srv/\(name)")), .init("to", "https://media.example.com/in/"),
            ])
            let draft = CommandDraft(
                type: "upload", payload: payload.bytes, destination: Destination("https://media.example.com") ?? .none,
                idempotent: true)
            let id = try #require(rig.store.submit([draft], allowUnknownTypes: true).first).get().id
            for path in ["/commands", "/commands?q=svg", "/commands/\(id)"] {
                let page = try await rig.get(path)
                #expect(page.status == 200 && page.text.contains("&quot;&gt;&lt;svg onload=alert(1)&gt;"), "\(path)")
                #expect(!page.text.contains("<svg onload"), "\(path)")
            }
            let found = try await rig.get("/commands?q=\(id.description.suffix(12))")
            #expect(found[.location] == "/commands/\(id)")
        }
    }

    @Test func `a URL without a page is a page for a browser, and a problem for a program`() async throws {
        try await PagesRig.with(basePath: "/sluice") { rig in
            let page = try await rig.get("/nothing", accept: "text/html,application/xhtml+xml,*/*;q=0.8")
            #expect(page.status == 404 && page[.contentType] == "text/html; charset=utf-8")
            #expect(page.values(of: "href").contains("/sluice/") && !page.text.contains("id=\"live\""))
            let problem = try await rig.get("/nothing", accept: "*/*")
            #expect(problem.status == 404 && problem[.contentType] == "application/problem+json")
        }
    }

    @Test func `a filter is reflected only as text`() async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            let page = try await rig.get("/commands?type=%22%3E%3Cscript%3E&to=x&status=&qos=&within=")
            #expect(page.status == 200 && !page.text.contains("\"><script>"))
            let wrong = try await rig.get("/commands?status=%22%3E%3Cscript%3E")
            #expect(wrong.status == 400 && !wrong.text.contains("\"><script>"))
        }
    }

    @Test(arguments: [
        "status=eror", "qos=low", "within=soon", "batch=1", "in=url", "statsu=error", "status=new&status=error",
    ])
    func `a filter that was mistyped is an error, and neither lists nor changes all commands`(
        query: String
    ) async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            let draft = CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
            _ = rig.store.submit([draft], allowUnknownTypes: true)
            #expect(try await rig.get("/commands?\(query)").status == 400)
            let parts = query.split(separator: "&")[0].split(separator: "=").map(String.init)
            for (name, value) in [(parts[0], parts[1]), ("status", "")] where name != "status" || value != "new" {
                let answer = try await rig.post(
                    "/commands/act",
                    ["f-\(name)": value, "scope": "all", "verb": "cancel", "asked": "2100-01-01T00:00:00Z"])
                #expect(answer.status == 400, "\(name)=\(value): \(answer.text)")
            }
            #expect(try rig.store.counts()[.new] == 1)
        }
    }

    @Test func `a bulk action changes the commands of its question, not those that came after it`() async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            let drafts = (0..<5).map { _ in
                CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
            }
            let asked = Timestamp.now
            _ = rig.store.submit(drafts, allowUnknownTypes: true, now: asked + .milliseconds(-2))
            let question = try await rig.post(
                "/commands/act", ["f-type": "noop", "f-within": "1h", "scope": "all", "verb": "cancel"])
            #expect(question.text.contains("Cancel 5 commands?"), "\(question.text)")
            // The form has the time of the question as its only RFC 3339 value.
            let time = try #require(question.values(of: "value").compactMap { Timestamp(rfc3339: $0) }.first)
            #expect(time >= asked)
            _ = rig.store.submit(drafts, allowUnknownTypes: true, now: time + .milliseconds(1))
            let begun = try await rig.post(
                "/commands/act",
                ["f-type": "noop", "f-within": "1h", "scope": "all", "verb": "cancel", "asked": time.description])
            let run = try #require(begun[.location])
            try await until("the end of the action") { try await rig.get(run).text.contains("Done in") }
            #expect(try rig.store.counts()[.cancelled] == 5 && rig.store.counts()[.new] == 5)
        }
    }

    @Test func `a command that was given up can be put away on its page`() async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            let id = try #require(rig.store.submit([Self.noop], allowUnknownTypes: true).first).get().id
            try rig.store.open(Session(seat: 0, epoch: 7, pid: 1, startTime: 1, bootID: "test"))
            let ending = ExecutionResult.failure(CommandFailure(.final, reason: "PUT was answered 404"))
            _ = try rig.store.apply(
                [.claim(id, sent: true), .end(id, claim: 1, ending)], shard: id.shard(of: rig.store.shardCount),
                seat: 0, epoch: 7)
            #expect(try rig.store.command(id)?.status == .tooManyTimes)
            #expect(try await rig.get("/commands/\(id)").text.contains("Put away"))
            #expect(try await rig.post("/commands/\(id)/cancel", [:]).status == 303)
            #expect(try rig.store.command(id)?.status == .cancelled)
            #expect(!(try await rig.get("/commands/\(id)")).text.contains("Put away"))
        }
    }

    @Test func `an action with an old view changes nothing`() async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            let draft = CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
            let id = try #require(rig.store.submit([draft], allowUnknownTypes: true).first).get().id
            let page = try await rig.get("/commands/\(id)")
            let seen = try #require(page.values(of: "value").first { $0.contains("-") && $0.count < 12 })
            let cancelled = try await rig.post("/commands/\(id)/cancel", [:])
            #expect(cancelled.status == 303)
            #expect(try rig.store.command(id)?.status == .cancelled)
            let moved = try await rig.post("/commands/\(id)/retry", ["seen": seen])
            #expect(try rig.store.command(id)?.status == .cancelled)
            let after = try await rig.get(try #require(moved[.location]))
            #expect(after.text.contains("It has changed"))
            #expect(try rig.store.timeline(id).last?.reason == "cancelled by token “ops” at 127.0.0.1")
            // The notice is shown once.
            #expect(!(try await rig.get(try #require(moved[.location]))).text.contains("It has changed"))
        }
    }

    @Test func `all that match become one action in the background`() async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            let drafts = (0..<60).map { _ in
                CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
            }
            _ = rig.store.submit(drafts, allowUnknownTypes: true)
            let list = try await rig.get("/commands")
            #expect(list.text.split(separator: " name=\"id\"").count == 51)
            let question = try await rig.post("/commands/act", ["f-type": "noop", "scope": "all", "verb": "cancel"])
            #expect(question.status == 200 && question.text.contains("Cancel 60 commands?"), "\(question.text)")
            // It is the answer to a form: the script could not read it again.
            #expect(!question.text.contains("id=\"live\""))
            #expect(try rig.store.counts()[.cancelled] == 0)
            let begun = try await rig.post(
                "/commands/act",
                ["f-type": "noop", "scope": "all", "verb": "cancel", "asked": Timestamp.now.description])
            let run = try #require(begun[.location])
            #expect(run.hasPrefix("/actions/"))
            try await until("the end of the action") { try rig.store.counts()[.cancelled] == 60 }
            #expect(try await rig.get(run).status == 200)
        }
    }

    @Test func `a full list of commands is at most 30 kB`() async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            let drafts = (0..<50).map { number in
                CommandDraft(
                    type: "upload",
                    payload: Array(
                        #"{"file":"/srv/recordings/holiday-2026-\#(number).mp4","to":"https://media.example.com/in/"}"#
                            .utf8),
                    destination: Destination("https://media.example.com:8443") ?? .none, idempotent: true)
            }
            let ids = try rig.store.submit(drafts, allowUnknownTypes: true).map { try $0.get().id }
            for id in ids { try await rig.client.cancel(id, reason: "PUT https://media.example.com was answered 503") }
            let list = try await rig.get("/commands")
            #expect(list.text.split(separator: "was answered 503").count == 51)
            #expect(list.text.utf8.count <= 30_000, "\(list.text.utf8.count) bytes")
        }
    }

    @Test func `a long timeline is on small pages, the newest steps on the first`() async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            let id = try #require(rig.store.submit([Self.noop], allowUnknownTypes: true).first).get().id
            for _ in 0..<50 {
                try await rig.client.cancel(id, reason: "PUT https://media.example.com/in/a.mp4 was answered 503")
                try await rig.client.retry(id)
            }
            let timeline = try rig.store.timeline(id)
            #expect(timeline.count == 101)
            let page = try await rig.get("/commands/\(id)")
            #expect(page.text.contains("\(timeline[41].at)") && page.text.utf8.count <= 30_000)
            #expect(!page.text.contains("Newest steps") && page.text.contains("Earlier steps"))
            let link = "/commands/\(id)?before=\(timeline[41].seq)"
            #expect(page.text.contains(link))
            let earlier = try await rig.get(link)
            #expect(earlier.text.contains("\(timeline[0].at)") && earlier.text.contains("\(timeline[40].at)"))
            #expect(!earlier.text.contains("Earlier steps") && earlier.text.contains("Newest steps"))
        }
    }

    @Test func `a batch has its members by status, and its callbacks`() async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            var batch = BatchDraft("<b>import</b>")
            batch.callbacks = [.init(on: .failure, Self.noop)]
            let id = try await rig.client.open(batch, allowUnknownTypes: true)
            var member = Self.noop
            member.batch = id
            let members = rig.store.submit([member, member], allowUnknownTypes: true)
            try await rig.client.cancel(try #require(members.first).get().id, reason: "not needed")
            let page = try await rig.get("/batches/\(id)")
            #expect(page.status == 200 && page.text.contains("&lt;b&gt;import") && page.text.contains("after failure"))
            #expect(page.values(of: "href").contains("/commands?batch=\(id)&amp;status=cancelled"), "\(page.text)")
            let list = try await rig.get("/commands?batch=\(id)")
            #expect(list.text.split(separator: " name=\"id\"").count == 3)
            #expect(try await rig.get("/batches").text.contains("open"))
            #expect(try await rig.post("/batches/\(id)/seal", [:]).status == 303)
            #expect(try rig.store.batch(id)?.isSealed == true)
        }
    }

    @Test func `a limit has the commands that wait for it, and can be changed`() async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            try rig.store.set(SettingKey.limit("quotes"), to: RateLimit(starts: StartRate(text: "30/s")!).json.text)
            var draft = Self.noop
            draft.limit = "quotes"
            let ids = try rig.store.submit([draft, draft], allowUnknownTypes: true).map { try $0.get().id }
            let page = try await rig.get("/limits/quotes")
            #expect(page.status == 200 && page.values(of: "href").contains("/commands/\(ids[0])"), "\(page.text)")
            #expect(try await rig.get("/limits").text.contains("30/s"))
            let reasons = try await rig.get("/commands/\(ids[0])")
            #expect(reasons.values(of: "href").contains("/limits/quotes"))
            _ = try await rig.post("/limits/quotes", ["starts": "no"])
            _ = try await rig.post("/limits/quotes", ["starts": "5/min", "burst": "0"])
            #expect(try rig.store.rateLimits()["quotes"]?.starts.description == "30/s")
            #expect(try await rig.post("/limits/quotes", ["starts": "5/min", "atOnce": "2"]).status == 303)
            let limit = try #require(try rig.store.rateLimits()["quotes"])
            #expect(limit.starts.description == "5/min" && limit.atOnce == 2 && limit.burst == nil)
            #expect(try await rig.get("/limits/unknown").status == 404)
        }
    }

    private static var noop: CommandDraft {
        CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
    }

    @Test func `the assets are small and are kept for a year`() async throws {
        try await PagesRig.with { rig in
            let url = try #require(try await rig.get("/login").values(of: "href").first { $0.hasSuffix("style.css") })
            let style = try await rig.get(url)
            #expect(style.status == 200 && style[.cacheControl] == "public, max-age=31536000, immutable")
            #expect(try await rig.get("/assets/000000000000/style.css").status == 404)
            #expect(Assets.size("style.css") <= 12_000)
            #expect(["live.js", "stream.js", "upload.js"].map(Assets.size).reduce(0, +) <= 24_000)
        }
    }
}

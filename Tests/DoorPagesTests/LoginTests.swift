import Door
import HTTPTypes
import Synchronization
import Testing

@testable import DoorPages

struct LoginTests {
    @Test func `a page without a session leads to the login and back`() async throws {
        try await PagesRig.with(basePath: "/sluice") { rig in
            let refused = try await rig.get("/commands?status=error")
            #expect(refused.status == 303)
            #expect(refused[.location] == "/sluice/login?next=%2Fcommands%3Fstatus%3Derror")
            let done = try await rig.post("/login", ["token": rig.token.text, "next": "/commands?status=error"])
            #expect(done.status == 303 && done[.location] == "/sluice/commands?status=error")
            let cookie = try #require(done[.setCookie])
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
        }
    }

    @Test func `a wrong token shows the login again with the reason`() async throws {
        try await PagesRig.with { rig in
            let answer = try await rig.post("/login", ["token": "slu_wrong"])
            #expect(answer.status == 401 && answer[.setCookie] == nil)
            #expect(answer.text.contains("role=\"alert\"") && !answer.text.contains("slu_wrong"))
        }
    }

    @Test func `a login link is used up by its button, not by a look at it`() async throws {
        try await PagesRig.with { rig in
            let code = try rig.code()
            for _ in 0..<2 {
                let page = try await rig.get("/login?code=\(code)")
                #expect(page.status == 200 && page.values(of: "value").contains(code))
            }
            #expect(try await rig.post("/login", ["code": code]).status == 303)
            #expect(try await rig.post("/login", ["code": code]).status == 401)
        }
    }

    @Test(arguments: ["//evil.example/", "https://evil.example/"])
    func `the login leads only to pages of this door`(next: String) async throws {
        try await PagesRig.with { rig in
            let done = try await rig.post("/login", ["token": rig.token.text, "next": next])
            #expect(done[.location] == "/")
        }
    }

    @Test func `a client without a token cannot send a long form`() async throws {
        try await PagesRig.with { rig in
            let refused = try await rig.post("/login", ["token": String(repeating: "x", count: 4096)])
            #expect(refused.status == 413)
            #expect(try await rig.post("/login", ["token": String(repeating: "x", count: 4000)]).status == 401)
        }
    }

    @Test func `a second login of a browser ends its first session`() async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            let first = rig.cookie.withLock(\.self)
            try await rig.logIn()
            #expect(try await rig.get("/").status == 200)
            rig.cookie.withLock { $0 = first }
            #expect(try await rig.get("/").status == 303)
        }
    }

    @Test func `a log-out ends the session`() async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            #expect(try await rig.get("/").status == 200)
            #expect(try await rig.post("/logout", [:]).status == 303)
            #expect(try await rig.get("/").status == 303)
        }
    }

    @Test(arguments: ["cross-site", "same-site", nil] as [String?])
    func `an action of another site is refused`(site: String?) async throws {
        try await PagesRig.with { rig in
            try await rig.logIn()
            let answer = try await rig.post("/commands/act", ["scope": "all", "verb": "cancel"], site: site)
            #expect(answer.status == 403)
        }
    }

    @Test func `a token without the scope gets a page that says so`() async throws {
        try await PagesRig.with(scopes: [.upload]) { rig in
            try await rig.logIn()
            let refused = try await rig.get("/")
            #expect(refused.status == 403 && refused[.contentType] == "text/html; charset=utf-8")
            #expect(refused.values(of: "href").contains("/upload"))
            #expect(try await rig.get("/upload").status == 200)
        }
    }
}

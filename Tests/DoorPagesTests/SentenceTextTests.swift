import Commands
import HTTPTypes
import Queue
import Store
import Testing

@testable import DoorPages

struct SentenceTextTests {
    @Test func `a sentence has its ids as links and its times as times, and stays escaped`() async throws {
        try await PagesRig.with(basePath: "/sluice") { rig in
            try await rig.logIn()
            let drafts = ["first", "second"].map { _ in
                var draft = CommandDraft(
                    type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
                draft.orderingKey = "<album>"
                return draft
            }
            let ids = try rig.store.submit(drafts, allowUnknownTypes: true).map { try $0.get().id }
            let page = try await rig.get("/commands/\(ids[1])")
            let link = "<a href=\"/sluice/commands/\(ids[0])\">\(ids[0])</a>"
            #expect(page.text.contains("“&lt;album&gt;” is held by \(link), new"))
            try await rig.client.pause()
            let paused = try await rig.get("/commands/\(ids[0])")
            #expect(paused.text.contains("Everything paused since <time datetime=\""))
        }
    }
}

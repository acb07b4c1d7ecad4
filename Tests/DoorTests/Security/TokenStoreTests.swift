import Commands
import Store
import Testing

@testable import Door

struct TokenStoreTests {
    private let memory = MemoryStore()
    private var store: TokenStore { TokenStore(memory) }
    private let now = Timestamp(milliseconds: 1_000_000_000)

    private func record(_ name: String, _ body: (inout TokenRecord) -> Void = { _ in }) -> TokenRecord {
        var record = TokenRecord(AccessToken(), name: name, scopes: [.read], created: now)
        body(&record)
        return record
    }

    @Test func `two usable tokens cannot have the same name`() throws {
        let first = record("ci")
        try store.add(first, now: now)
        #expect(throws: StoreError.self) { try store.add(record("ci"), now: now) }
        let revoked = try #require(try store.revoke(first.id, now: now))
        #expect(revoked.revoked == now)
        try store.add(record("ci"), now: now)
        #expect(try store.tokens().records.map(\.name) == ["ci", "ci"])
    }

    @Test func `a second revocation keeps the time of the first, and an unknown id revokes nothing`() throws {
        let first = record("ci")
        try store.add(first, now: now)
        _ = try store.revoke(first.id, now: now)
        #expect(try store.revoke(first.id, now: now + .seconds(9))?.revoked == now)
        #expect(try store.revoke("0123456789", now: now) == nil)
    }

    @Test func `a month after its end the record of a token is removed with the next one`() throws {
        let old = record("old") { $0.revoked = now }
        let expired = record("expired") { $0.expires = now }
        let kept = record("kept") { $0.expires = now + .seconds(86_400) }
        for each in [old, expired, kept] { try store.add(each, now: now) }
        try store.add(record("new"), now: now + .seconds(30 * 86_400 + 1))
        #expect(Set(try store.tokens().records.map(\.name)) == ["kept", "new"])
    }

    @Test func `a record of another form is named, and the others stay usable`() throws {
        try store.add(record("ci"), now: now)
        memory.set([(SettingKey.accessToken("zzzzzzzzzz"), #"{"name":"later","clearance":3}"#)], timeout: .zero)
        let (records, unreadable) = try store.tokens()
        #expect(records.map(\.name) == ["ci"] && unreadable == ["zzzzzzzzzz"])
        #expect(try store.revoke("zzzzzzzzzz", now: now) == nil)
        #expect(memory.setting(SettingKey.accessToken("zzzzzzzzzz"))?.contains("clearance") == true)
    }
}

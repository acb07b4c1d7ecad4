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

    @Test func `a later token of a name has its first owner, also one that is rotated`() throws {
        let first = record("ci") { ($0.expires, $0.routes) = (now + .seconds(60), ["archive"]) }
        try store.add(first, now: now)
        try store.add(record("other"), now: now)
        let late = now + .seconds(61)
        try store.add(record("ci") { $0.created = late }, now: late)
        let second = try #require(try store.tokens().records.last { $0.name == "ci" })
        #expect(second.owner == first.id && second.id != first.id)
        #expect(second.principal(isSession: false).owner == first.id)
        let other = try #require(try store.tokens().records.first { $0.name == "other" })
        #expect(other.owner == other.id)
        #expect(
            memory.setting(SettingKey.accessToken(first.id))?.contains("owner") == false, "earlier releases read it")

        let (third, ended) = try store.rotate(second, to: AccessToken(), expires: nil, overlap: .zero, now: late)
        #expect(third.owner == first.id && third.name == "ci" && third.scopes == second.scopes)
        #expect(ended.revoked == late && third.state(at: late) == .usable)
        #expect(throws: StoreError.self) {
            try store.rotate(second, to: AccessToken(), expires: nil, overlap: .zero, now: late)
        }
    }

    @Test func `an overlap keeps the earlier token usable, but for no longer than before`() throws {
        let first = record("ci") { $0.expires = now + .seconds(60) }
        try store.add(first, now: now)
        let (second, ended) = try store.rotate(
            first, to: AccessToken(), expires: now + .seconds(999), overlap: .seconds(3600), now: now)
        #expect(ended.expires == first.expires && ended.revoked == nil && second.expires == now + .seconds(999))
        let third = try store.rotate(second, to: AccessToken(), expires: nil, overlap: .seconds(10), now: now)
        #expect(third.old.expires == now + .seconds(10) && third.new.expires == nil)
        #expect(throws: StoreError.self) { try store.add(record("ci"), now: now) }
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

import Commands
import Store
import Testing

@testable import Door

struct TokenGrantTests {
    private let memory = MemoryStore()
    private var store: TokenStore { TokenStore(memory) }
    private let now = Timestamp(milliseconds: 1_800_000_000_000)

    private func maker(
        _ name: String = "site", scopes: Set<Scope> = [.upload, .grant], _ body: (inout TokenRecord) -> Void = { _ in }
    ) throws -> TokenRecord {
        var record = TokenRecord(AccessToken(), name: name, scopes: scopes, created: now)
        body(&record)
        try store.add(record, now: now)
        return record
    }

    private func grant(
        by maker: TokenRecord, at time: Timestamp? = nil, _ body: (inout TokenGrant) -> Void = { _ in }
    ) throws -> TokenRecord {
        var grant = TokenGrant()
        body(&grant)
        return try store.grant(grant, by: maker.id, AccessToken(), now: time ?? now)
    }

    private func state(_ record: TokenRecord, at time: Timestamp) throws -> TokenRecord.State? {
        try store.tokens().records.first { $0.id == record.id }?.state(at: time)
    }

    @Test func `a grant has no more routes, scopes or time than its maker`() throws {
        let maker = try maker {
            $0.scopes.insert(.read)
            ($0.routes, $0.expires) = (["archive", "inbox"], now + .seconds(600))
        }
        let plain = try grant(by: maker)
        #expect(plain.scopes == [.upload] && plain.routes == ["archive", "inbox"] && plain.name == plain.id)
        #expect(plain.expires == now + .seconds(600))
        let small = try grant(by: maker) {
            ($0.name, $0.routes, $0.maxBytes, $0.expires) = ("cam", ["inbox"], 5, now + .seconds(60))
        }
        #expect(small.routes == ["inbox"] && small.maxBytes == 5 && small.expires == now + .seconds(60))
        #expect(small.fullName == "site/cam")
        #expect(throws: TokenGrantError.routes) { try grant(by: maker) { $0.routes = ["inbox", "publish"] } }
        #expect(throws: TokenGrantError.nameTaken) { try grant(by: maker) { $0.name = "cam" } }
        let lasting = try self.maker("other")
        let long = try grant(by: lasting) { $0.expires = now + .seconds(999_999) }
        #expect(long.expires == now + .seconds(86_400), "a day at most")
        #expect(try grant(by: lasting).expires == now + .seconds(3600))
        #expect(try grant(by: lasting) { $0.name = "cam" }.fullName == "other/cam", "names are of one maker")
    }

    @Test func `only a usable token with both scopes makes grants, and a grant makes none`() throws {
        let first = try maker()
        let made = try grant(by: first)
        let uploads = try maker("uploads", scopes: [.upload])
        let grants = try maker("grants", scopes: [.grant])
        for other in [made, uploads, grants] {
            #expect(throws: TokenGrantError.makerEnded) { try grant(by: other) }
        }
        _ = try store.revoke(first.id, now: now)
        #expect(throws: TokenGrantError.makerEnded) { try grant(by: first) }
    }

    @Test func `a grant is revoked and expires with its maker, and outlives a rotation`() throws {
        let first = try maker()
        let made = try grant(by: first)
        let late = now + .seconds(10)
        let (second, _) = try store.rotate(
            first, to: AccessToken(), expires: now + .seconds(60), overlap: .zero, now: late)
        #expect(try state(made, at: late) == .usable, "the maker was rotated")
        #expect(try state(made, at: now + .seconds(61)) == .expired, "the rotated maker expires before the grant")
        _ = try store.revoke(second.id, now: late)
        #expect(try state(made, at: late) == .revoked)
        // A new token of the name does not bring the grants of the earlier one back.
        _ = try maker()
        #expect(try state(made, at: late) == .revoked)
        #expect(memory.setting(SettingKey.accessToken(made.id))?.contains("makerName") == true)
    }

    @Test func `a later grant of a name owns the uploads of the earlier one, but no token of another maker`() throws {
        let (site, other) = (try maker(), try maker("other"))
        let first = try grant(by: site) { $0.name = "cam" }
        let late = now + .seconds(3601)
        let stranger = try grant(by: other, at: late) { $0.name = "cam" }
        let second = try grant(by: site, at: late) { $0.name = "cam" }
        let records = try store.tokens().records
        func owner(_ record: TokenRecord) -> String? { records.first { $0.id == record.id }?.owner }
        #expect(owner(second) == first.id && owner(stranger) == stranger.id)
        let person = TokenRecord(AccessToken(), name: "cam", scopes: [.upload], created: late)
        try store.add(person, now: late)
        #expect(try store.tokens().records.first { $0.id == person.id }?.owner == person.id)
    }

    @Test func `the principal of a grant takes the share of its maker, and owns its own uploads only`() throws {
        let site = try maker()
        let made = try grant(by: site) { $0.maxBytes = 7 }
        let principal = try #require(try store.grants(of: site.owner).first).principal(isSession: false)
        #expect(principal.grant == UploadFacts.Grant(maker: site.id, maxBytes: 7) && principal.owner == made.id)
        var facts = UploadFacts(origin: .tus)
        (facts.token, facts.grant) = (made.id, principal.grant)
        let own = Upload(id: CommandID(), length: 1, facts: facts, createdAt: now)
        facts.token = "another"
        let sibling = Upload(id: CommandID(), length: 1, facts: facts, createdAt: now)
        let maker = site.principal(isSession: false)
        #expect(principal.owns(own) && !principal.owns(sibling))
        #expect(maker.owns(own) && maker.owns(sibling))
        let stored = try #require(UploadFacts(facts.json))
        #expect(stored == facts)
    }

    @Test func `a maker has a maximum of usable grants, and an hour after their end they are forgotten`() throws {
        let site = try maker()
        let soon = now + .seconds(1)
        let settings = (0..<TokenGrant.maxCount).map { number in
            var record = TokenRecord(AccessToken(), name: "g\(number)", scopes: [.upload], created: now)
            record.maker = TokenRecord.Maker(owner: site.owner, name: "site")
            record.expires = soon
            return (key: SettingKey.accessToken(record.id), value: String?.some(record.setting))
        }
        memory.set(settings, timeout: .zero)
        #expect(throws: TokenGrantError.tooMany) { try grant(by: site) }
        _ = try grant(by: site, at: soon)
        #expect(try store.grants(of: site.owner).count == TokenGrant.maxCount + 1)
        _ = try grant(by: site, at: soon + .seconds(3601))
        #expect(try store.grants(of: site.owner).count == 2)
    }
}

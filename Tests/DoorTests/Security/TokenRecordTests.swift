import Commands
import Testing

@testable import Door

struct TokenRecordTests {
    private let token = AccessToken()

    private func full() -> TokenRecord {
        var record = TokenRecord(
            token, name: "studio", scopes: [.upload, .submit], created: Timestamp(milliseconds: 1000))
        record.routes = ["archive", "publish"]
        record.types = ["webhook"]
        record.destinations = [Destination(scheme: "https", host: "h.example.com", port: 443)]
        record.expires = Timestamp(milliseconds: 5000)
        record.lastUsed = Timestamp(milliseconds: 2000)
        record.revoked = Timestamp(milliseconds: 3000)
        record.owner = "0123456789"
        return record
    }

    @Test func `a record is read back as it was written, without the secret`() {
        for record in [full(), TokenRecord(token, name: "a", scopes: [.metrics], created: .zero)] {
            #expect(TokenRecord(id: token.id, setting: record.setting) == record)
            #expect(!record.setting.contains(token.text.suffix(50)))
        }
    }

    @Test func `a record with a key, a scope or a list that this release does not know is not usable`() {
        let text = full().setting
        for (old, new) in [
            (#""name":"#, #""addresses":["192.0.2.0/24"],"name":"#), (#""upload""#, #""admin""#),
            (#"["webhook"]"#, #""webhook""#), (#"["webhook"]"#, "[1]"), (#""digest":""#, #""digest":"00"#),
            (#""name":"studio","#, ""), ("{", "["), (#""created":""#, #""created":"x"#),
            (#""expires":""#, #""expires":"x"#), (#""owner":""#, #""owner":1,"lastUsed":""#),
        ] {
            let changed = text.replacing(old, with: new, maxReplacements: 1)
            #expect(changed != text)
            #expect(TokenRecord(id: token.id, setting: changed) == nil, "\(changed)")
        }
    }

    @Test func `a record matches its own token, and no other with the same id`() throws {
        let record = full()
        #expect(record.matches(token) && !record.matches(AccessToken()))
        let empty = TokenRecord(id: token.id, name: "a", digest: [], scopes: [], created: .zero)
        #expect(!empty.matches(token))
    }

    @Test func `a token is usable until it expires or is revoked`() {
        var record = full()
        #expect(record.state(at: .zero) == .revoked)
        record.revoked = nil
        #expect(record.state(at: Timestamp(milliseconds: 4999)) == .usable)
        #expect(record.state(at: Timestamp(milliseconds: 5000)) == .expired)
    }

    @Test func `the principal has the rights of the token`() {
        let principal = full().principal(isSession: true)
        #expect(principal.token == token.id && principal.name == "studio" && principal.isSession)
        #expect(principal.scopes == [.upload, .submit] && principal.routes == ["archive", "publish"])
        #expect(principal.types == ["webhook"] && principal.destinations?.count == 1)
    }
}

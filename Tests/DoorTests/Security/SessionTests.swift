import Commands
import Dispatch
import HTTPTypes
import Host
import Logging
import Store
import Testing

@testable import Door

struct SessionTests {
    private let now = Timestamp(milliseconds: 1_000_000)

    @Test func `a login code is valid once, for ten minutes, and only its digest is stored`() throws {
        let store = MemoryStore()
        let codes = StoredLoginCodes(store)
        let (first, second) = (try codes.make(for: "t", now: now), try codes.make(for: "t", now: now))
        let settings = store.settings(prefix: SettingKey.loginPrefix)
        #expect(first != second && first.utf8.count >= 22)
        #expect(settings.count == 2 && !settings.description.contains(first))
        #expect(try codes.redeem(first, now: now + .milliseconds(599_999)) == "t")
        #expect(try codes.redeem(first, now: now) == nil)
        #expect(try codes.redeem(second, now: now + .seconds(600)) == nil)
        #expect(try codes.redeem("", now: now) == nil)
        #expect(try codes.redeem("other", now: now) == nil)
        _ = try codes.make(for: "t", now: now)
        _ = try codes.make(for: "t", now: now + .seconds(601))
        #expect(store.settings(prefix: SettingKey.loginPrefix).count == 1, "expired codes are removed")
    }

    @Test func `a session ends after twelve idle hours, and each use begins them anew`() {
        var sessions = SessionTable(now: now)
        let id = sessions.begin(token: "t", now: now)
        #expect(sessions.use(id, now: now + .seconds(12 * 3600 - 1)) == "t")
        #expect(sessions.use(id, now: now + .seconds(24 * 3600 - 2)) == "t")
        #expect(sessions.use(id, now: now + .seconds(36 * 3600)) == nil)
        #expect(sessions.count == 0)
    }

    @Test func `log-out ends one session, and the end of a token all of its sessions`() {
        var sessions = SessionTable(now: now)
        let ids = ["t", "t", "u"].map { sessions.begin(token: $0, now: now) }
        sessions.end(ids[0])
        #expect(ids.map { sessions.use($0, now: now) } == [nil, "t", "u"])
        sessions.end(token: "t")
        #expect(ids.map { sessions.use($0, now: now) } == [nil, nil, "u"])
    }

    @Test func `a login beyond the share of a token ends its own session that was idle longest`() {
        var sessions = SessionTable(now: now)
        let operatorID = sessions.begin(token: "operator", now: now)
        let ids = (0..<64).map { sessions.begin(token: "t", now: now + .milliseconds(Int64($0))) }
        #expect(sessions.use(ids[0], now: now + .seconds(10)) == "t")
        let next = sessions.begin(token: "t", now: now + .seconds(11))
        #expect(sessions.count == 65)
        #expect([ids[1], ids[0], next].map { sessions.use($0, now: now + .seconds(11)) } == [nil, "t", "t"])
        for _ in 0..<5000 { _ = sessions.begin(token: "t", now: now + .seconds(12)) }
        #expect(sessions.count == 65)
        #expect(sessions.use(operatorID, now: now + .seconds(12)) == "operator")
    }

    @Test func `where the door has its maximum of sessions, one of the token that has most makes room`() {
        var sessions = SessionTable(now: now)
        let first = sessions.begin(token: "operator", now: now)
        for token in 0..<63 { for _ in 0..<64 { _ = sessions.begin(token: "\(token)", now: now + .seconds(1)) } }
        for index in 0..<63 { _ = sessions.begin(token: "\(100 + index)", now: now + .seconds(1)) }
        #expect(sessions.count == 4096)
        let other = sessions.begin(token: "other", now: now + .seconds(2))
        #expect(sessions.count == 4096)
        #expect([first, other].map { sessions.use($0, now: now + .seconds(2)) } == ["operator", "other"])
    }

    @Test func `the store learns of begins and ends at once, and of uses every ten minutes`() {
        var sessions = SessionTable(now: now)
        let id = sessions.begin(token: "t", now: now)
        #expect(sessions.takeChanges().values.compactMap { $0?.lastSeen } == [now])
        #expect(sessions.use(id, now: now + .seconds(599)) == "t" && sessions.takeChanges().isEmpty)
        #expect(sessions.use(id, now: now + .seconds(600)) == "t")
        #expect(sessions.takeChanges().values.compactMap { $0?.lastSeen } == [now + .seconds(600)])
        sessions.end(id)
        #expect(sessions.takeChanges().values.map { $0 == nil } == [true] && sessions.takeChanges().isEmpty)
    }

    @Test func `sessions come back from the store, without those that were idle too long`() throws {
        let store = MemoryStore()
        var sessions = SessionTable(now: now)
        let ids = [sessions.begin(token: "t", now: now), sessions.begin(token: "u", now: now + .seconds(7200))]
        let writer = StoredSessions(store, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        defer { writer.close() }
        let isWritten = DispatchSemaphore(value: 0)
        writer.write(sessions.takeChanges()) { isWritten.signal() }
        isWritten.wait()
        #expect(!store.settings(prefix: SettingKey.sessionPrefix).description.contains(ids[0]))
        try store.set(SettingKey.session("damaged"), to: "{")
        let later = now + .seconds(12 * 3600)
        var next = SessionTable(try StoredSessions.read(store), now: later)
        #expect(ids.map { next.use($0, now: later) } == [nil, "u"])
        #expect(next.takeChanges().filter { $0.value == nil }.count == 2)
    }

    /// Of the door's ages by the wall clock, these were searched for what a jump of eight days and back deletes: sessions (idle
    /// time, also at a start of the door, and by a token that seems to have expired), login codes, records of tokens, uploads
    /// (``ClockHoldConformance`` and the tests of the engine have these), failed logins (these only decay).
    @Test func `a jump of the clock and back ends no session, and makes none last longer`() {
        var sessions = SessionTable(now: now)
        let ids = (0..<2).map { _ in sessions.begin(token: "t", now: now) }
        let ahead = now + .seconds(8 * 86_400)
        #expect(sessions.use(ids[0], now: ahead, isClockHeld: { true }) == "t")
        #expect(sessions.token(ids[1], now: ahead, isClockHeld: { true }) == "t")
        #expect(sessions.use(ids[0], now: now + .seconds(60), isClockHeld: { true }) == "t")
        #expect(sessions.use(ids[1], now: now + .seconds(60), isClockHeld: { true }) == "t")
        for id in ids { #expect(sessions.use(id, now: now + .seconds(13 * 3600)) == nil) }
        // A door that starts while the clock is ahead.
        let stored = ["a": SessionTable.Session(token: "t", lastSeen: now)]
        #expect(SessionTable(stored, now: ahead, isClockHeld: true).count == 1)
        #expect(SessionTable(stored, now: ahead).count == 0)
    }

    @Test func `a jump of the clock and back uses up no login code, and makes none last longer`() throws {
        let store = MemoryStore()
        let codes = StoredLoginCodes(store)
        let ahead = now + .seconds(8 * 86_400)
        let code = try codes.make(for: "t", now: now)
        try store.set(SettingKey.clockHold, to: ClockHold(.jump(.seconds(8 * 86_400)), now: .now).json.text)
        let late = try codes.make(for: "t", now: ahead)
        #expect(try codes.redeem(code, now: ahead) == nil)
        #expect(try codes.redeem(late, now: now + .seconds(60)) == nil, "it would be valid for eight days")
        #expect(try codes.redeem(code, now: now + .seconds(60)) == "t")
        try store.set(SettingKey.clockHold, to: nil)
        #expect(try codes.redeem(late, now: ahead) == "t")
    }

    @Test func `a jump of the clock removes no record of a token`() throws {
        let store = MemoryStore()
        let tokens = TokenStore(store)
        var first = TokenRecord(AccessToken(), name: "a", scopes: [], created: now)
        first.expires = now + .seconds(86_400)
        try tokens.add(first, now: now)
        let late = now + .seconds(60 * 86_400)
        try store.set(SettingKey.clockHold, to: ClockHold(.jump(.seconds(60 * 86_400)), now: .now).json.text)
        try tokens.add(TokenRecord(AccessToken(), name: "b", scopes: [], created: late), now: late)
        #expect(try tokens.tokens().records.map(\.name) == ["a", "b"])
        try store.set(SettingKey.clockHold, to: nil)
        try tokens.add(TokenRecord(AccessToken(), name: "c", scopes: [], created: late), now: late)
        #expect(try Set(tokens.tokens().records.map(\.name)) == ["b", "c"])
    }

    @Test func `each store has a name of the cookie of its own, which stays`() throws {
        let (first, second) = (MemoryStore(), MemoryStore())
        let suffix = try StoredSessions.cookieSuffix(first)
        #expect(try StoredSessions.cookieSuffix(first) == suffix)
        #expect(try StoredSessions.cookieSuffix(second) != suffix)
        try first.set(SettingKey.doorCookie, to: "a=b; c")
        #expect(try StoredSessions.cookieSuffix(first).allSatisfy { $0.isLetter || $0.isNumber })
    }

    @Test func `the cookie is bound to its path, and with TLS to the host`() {
        let plain = SessionCookie(basePath: "", isSecure: false, suffix: "8080")
        #expect(plain.setting("x1") == "sluice-8080=x1; Path=/; HttpOnly; SameSite=Strict")
        #expect(plain.removal == "sluice-8080=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
        let secure = SessionCookie(basePath: "", isSecure: true)
        #expect(secure.setting("x1") == "__Host-sluice=x1; Path=/; HttpOnly; SameSite=Strict; Secure")
        // Browsers refuse __Host- with another path.
        let below = SessionCookie(basePath: "/door", isSecure: true)
        #expect(below.setting("x1") == "__Secure-sluice=x1; Path=/door; HttpOnly; SameSite=Strict; Secure")
    }

    @Test func `the ids are found among other cookies, and nothing else is taken for one`() {
        let cookie = SessionCookie(basePath: "", isSecure: false)
        var fields = HTTPFields()
        fields.append(HTTPField(name: .cookie, value: "a=b; sluice=x1;sluice=y2; sluice-2=z3; xsluice=w; sluice"))
        fields.append(HTTPField(name: .cookie, value: "sluice=; sluice=a b; sluice=\u{e4}; =sluice; sluice=v3"))
        #expect(cookie.ids(in: fields) == ["x1", "y2", "v3"])
        #expect(cookie.ids(in: [:]).isEmpty)
    }
}

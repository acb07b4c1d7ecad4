import Commands
import HTTPTypes
import Host
import Logging
import Store
import TestSupport
import Testing

@testable import Door

struct AuthenticatorTests {
    /// A door without its server: tokens, a clock, and the delays and log lines of failures.
    private final class Bed: Sendable {
        let settings = MemoryStore()
        let store: TokenStore
        let codes: StoredLoginCodes
        let sessions: StoredSessions
        let time = Shared(Timestamp(milliseconds: 1_000_000))
        let monotonic = Shared(MonotonicTime(nanoseconds: 1))
        let delays = Shared<[Duration]>([])
        let log = Shared<[String]>([])
        let tokens: TokenCache
        let authenticator: Authenticator

        init(sleep: (@Sendable (Duration) async -> Void)? = nil) {
            let (time, monotonic, delays, log) = (time, monotonic, delays, log)
            var logger = Logger(label: "test") { _ in RecordingLog(lines: log) }
            logger.logLevel = .trace
            store = TokenStore(settings)
            codes = StoredLoginCodes(settings)
            sessions = StoredSessions(settings, logger: logger)
            tokens = TokenCache(store, logger: logger, clock: { monotonic.value })
            authenticator = Authenticator(
                tokens: tokens, cookie: SessionCookie(basePath: "", isSecure: false), logger: logger,
                codes: codes, storedSessions: sessions, clock: { time.value },
                sleep: sleep ?? { delay in delays.change { $0.append(delay) } })
        }

        deinit {
            tokens.close()
            sessions.close()
        }

        /// The authenticator of the next door of the store.
        func restarted() throws -> Authenticator {
            Authenticator(
                tokens: tokens, cookie: SessionCookie(basePath: "", isSecure: false),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                sessions: SessionTable(try StoredSessions.read(settings), now: time.value), storedSessions: sessions,
                clock: { [time] in time.value })
        }

        func add(_ name: String = "ci", _ body: (inout TokenRecord) -> Void = { _ in }) throws -> AccessToken {
            let token = AccessToken()
            var record = TokenRecord(token, name: name, scopes: [.read], created: time.value)
            body(&record)
            try store.add(record, now: time.value)
            pass(.seconds(1))
            return token
        }

        func pass(_ duration: Duration) {
            time.change { $0 = $0 + duration }
            monotonic.change { $0 += duration }
        }

        func bearer(_ text: String, scheme: String = "Bearer") -> HTTPFields { [.authorization: "\(scheme) \(text)"] }

        func refusal(_ fields: HTTPFields, client: String = "192.0.2.1") async throws -> Problem {
            try await #require(throws: Problem.self) {
                try await authenticator.authenticate(fields, client: client)
            }
        }

        func cookie(_ setting: String) -> HTTPFields { [.cookie: String(setting.prefix { $0 != ";" })] }
    }

    private struct RecordingLog: LogHandler {
        let lines: Shared<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        init(lines: Shared<[String]>) { self.lines = lines }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.change { $0.append("\(event.message) \(event.metadata ?? [:])") }
        }
    }

    @Test func `a bearer token is its principal, whatever the case of the scheme`() async throws {
        let bed = Bed()
        let token = try bed.add { $0.routes = ["archive"] }
        for scheme in ["Bearer", "bearer", "BEARER"] {
            let principal = try await bed.authenticator.authenticate(
                bed.bearer(token.text, scheme: scheme), client: "192.0.2.1")
            #expect(principal == Principal(token: token.id, name: "ci", scopes: [.read], routes: ["archive"]))
        }
        try await until("its use") { try bed.store.tokens().records.first?.lastUsed != nil }
    }

    @Test func `a request without credentials is challenged, and costs no delay`() async throws {
        let bed = Bed()
        for _ in 0..<20 {
            let problem = try await bed.refusal([:])
            #expect(problem.status == .unauthorized && problem.type == "token-missing")
            #expect(problem.fields[.wwwAuthenticate] == #"Bearer realm="sluice""#)
        }
        #expect(bed.delays.value.isEmpty && bed.authenticator.failureCounts == [.missing: 20])
    }

    @Test func `other schemes, two fields and other texts are refused`() async throws {
        let bed = Bed()
        let token = try bed.add()
        var twice = bed.bearer(token.text)
        twice.append(HTTPField(name: .authorization, value: "Bearer \(token.text)"))
        for fields in [
            twice, bed.bearer(token.text, scheme: "Basic"), [.authorization: token.text], [.authorization: "Bearer"],
            [.authorization: ""], bed.bearer("\(token.text) x"), bed.bearer(String(token.text.dropLast())),
            bed.bearer("ghp_abc"),
        ] {
            let problem = try await bed.refusal(fields)
            #expect(problem.status == .unauthorized && problem.type == "invalid-token", "\(fields)")
            #expect(problem.fields[.wwwAuthenticate] == #"Bearer realm="sluice", error="invalid_token""#)
        }
    }

    @Test func `only the holder of the secret hears that a token has expired or was revoked`() async throws {
        let bed = Bed()
        let expired = try bed.add("old") { $0.expires = $0.created + .seconds(1) }
        let revoked = try bed.add("gone")
        _ = try bed.store.revoke(revoked.id, now: bed.time.value)
        bed.pass(.seconds(1))
        let first = try await bed.refusal(bed.bearer(expired.text))
        #expect(first.type == "expired-token" && first.detail.contains("“old” has expired at 1970-"), "\(first.detail)")
        let second = try await bed.refusal(bed.bearer(revoked.text), client: "192.0.2.2")
        #expect(second.type == "revoked-token" && second.detail.contains("“gone” was revoked"), "\(second.detail)")
        let forged = try forge(id: expired.id)
        let third = try await bed.refusal(bed.bearer(forged), client: "192.0.2.3")
        #expect(third.type == "invalid-token" && !third.detail.contains("old"), "\(third.detail)")
    }

    /// A well-formed token with the id of another one.
    private func forge(id: String) throws -> String {
        let start = "slu_\(id)_\(Base62.random(bytes: 32))"
        let text = start + Base62.text(CRC32(.iso3309, of: start.utf8).bytes, count: 6)
        return try AccessToken(parsing: text).text
    }

    @Test func `failures of a client are delayed, and its correct token is not`() async throws {
        let bed = Bed()
        let token = try bed.add()
        for _ in 0..<6 { _ = try await bed.refusal(bed.bearer(AccessToken().text)) }
        #expect(bed.delays.value == [100, 200, 400].map { .milliseconds($0) })
        _ = try await bed.authenticator.authenticate(bed.bearer(token.text), client: "192.0.2.1")
        _ = try await bed.refusal(bed.bearer(AccessToken().text), client: "192.0.2.2")
        #expect(bed.delays.value.count == 3)
        #expect(bed.authenticator.failureCounts == [.unknown: 7])
    }

    @Test func `a client with too many delayed responses is refused with 429`() async throws {
        let (gates, open) = AsyncStream.makeStream(of: Void.self)
        let waiting = Shared(0)
        let bed = Bed { _ in
            waiting.change { $0 += 1 }
            for await _ in gates {}
        }
        for _ in 0..<3 { _ = try await bed.refusal(bed.bearer(AccessToken().text)) }
        try await withThrowingTaskGroup(of: Problem.self) { group in
            for _ in 0..<4 { group.addTask { try await bed.refusal(bed.bearer(AccessToken().text)) } }
            try await until("four delayed responses") { waiting.value == 4 }
            let problem = try await bed.refusal(bed.bearer(AccessToken().text))
            #expect(problem.status == .tooManyRequests && problem.fields[.retryAfter] == "5")
            open.finish()
            for try await problem in group { #expect(problem.status == .unauthorized) }
        }
    }

    @Test func `the log names client and reason, not the token, and a flood does not fill it`() async throws {
        let bed = Bed()
        let token = AccessToken()
        for _ in 0..<100 { _ = try await bed.refusal(bed.bearer(token.text)) }
        let lines = bed.log.value
        #expect((4...12).contains(lines.count), "\(lines)")
        #expect(lines.allSatisfy { $0.contains("192.0.2.1") && $0.contains("unknown") && $0.contains(token.id) })
        #expect(lines.allSatisfy { !$0.contains(token.text.suffix(20)) })
    }

    @Test func `a login by token or code begins a session, and log-out ends it`() async throws {
        let bed = Bed()
        let token = try bed.add()
        let byToken = try await bed.authenticator.logIn(token: " \(token.text)\n", client: "192.0.2.1")
        let byCode = try await bed.authenticator.logIn(
            code: bed.codes.make(for: token.id, now: bed.time.value), client: "192.0.2.1")
        for login in [byToken, byCode] {
            let principal = try await bed.authenticator.authenticate(bed.cookie(login.cookie), client: "192.0.2.1")
            #expect(principal.isSession && principal.token == token.id && login.principal == principal)
        }
        #expect(await bed.authenticator.logOut(bed.cookie(byToken.cookie)).contains("Max-Age=0"))
        #expect(try await bed.refusal(bed.cookie(byToken.cookie)).type == "session-ended")
        _ = try await bed.authenticator.authenticate(bed.cookie(byCode.cookie), client: "192.0.2.1")
    }

    @Test func `a login ends the earlier session of its browser, and a failed one does not`() async throws {
        let bed = Bed()
        let token = try bed.add()
        let first = bed.cookie(try await bed.authenticator.logIn(token: token.text, client: "192.0.2.1").cookie)
        let other = bed.cookie(try await bed.authenticator.logIn(token: token.text, client: "192.0.2.1").cookie)
        await #expect(throws: Problem.self) {
            try await bed.authenticator.logIn(token: "slu_x", fields: first, client: "192.0.2.1")
        }
        _ = try await bed.authenticator.authenticate(first, client: "192.0.2.1")
        let second = bed.cookie(
            try await bed.authenticator.logIn(token: token.text, fields: first, client: "192.0.2.1").cookie)
        #expect(try await bed.refusal(first).type == "session-ended")
        let code = try bed.codes.make(for: token.id, now: bed.time.value)
        _ = try await bed.authenticator.logIn(code: code, fields: second, client: "192.0.2.1")
        #expect(try await bed.refusal(second).type == "session-ended")
        _ = try await bed.authenticator.authenticate(other, client: "192.0.2.1")
    }

    @Test func `a session outlives the door, and a log-out and a revocation too`() async throws {
        let bed = Bed()
        let (first, second) = (try bed.add("first"), try bed.add("second"))
        let kept = try await bed.authenticator.logIn(token: first.text, client: "").cookie
        let left = try await bed.authenticator.logIn(token: first.text, client: "").cookie
        let revoked = try await bed.authenticator.logIn(token: second.text, client: "").cookie
        _ = await bed.authenticator.logOut(bed.cookie(left))
        _ = try bed.store.revoke(second.id, now: bed.time.value)
        bed.pass(.seconds(1))
        let next = try bed.restarted()
        #expect(try await next.authenticate(bed.cookie(kept), client: "").token == first.id)
        for cookie in [left, revoked] {
            let problem = try await #require(throws: Problem.self) {
                try await next.authenticate(bed.cookie(cookie), client: "")
            }
            #expect(problem.type == "session-ended")
        }
        // The end of the revoked token's session is stored behind the answer.
        _ = await next.logOut(bed.cookie(kept))
        #expect(bed.settings.settings(prefix: SettingKey.sessionPrefix).isEmpty)
    }

    @Test func `a login code cannot be used twice, and a wrong one is a failure that counts`() async throws {
        let bed = Bed()
        let token = try bed.add()
        let code = try bed.codes.make(for: token.id, now: bed.time.value)
        _ = try await bed.authenticator.logIn(code: code, client: "192.0.2.1")
        for _ in 0..<5 {
            let problem = try await #require(throws: Problem.self) {
                try await bed.authenticator.logIn(code: code, client: "192.0.2.1")
            }
            #expect(problem.type == "invalid-login-code" && problem.status == .unauthorized)
        }
        #expect(bed.delays.value.count == 2)
    }

    @Test func `a session ends with its token, and when it was idle for twelve hours`() async throws {
        let bed = Bed()
        let (first, second) = (try bed.add("first"), try bed.add("second"))
        let sessions = [
            try await bed.authenticator.logIn(token: first.text, client: "192.0.2.1").cookie,
            try await bed.authenticator.logIn(token: second.text, client: "192.0.2.1").cookie,
        ]
        _ = try bed.store.revoke(first.id, now: bed.time.value)
        bed.pass(.milliseconds(500))
        let problem = try await bed.refusal(bed.cookie(sessions[0]))
        #expect(problem.type == "session-ended" && problem.detail.contains("was revoked"), "\(problem.detail)")
        _ = try await bed.authenticator.authenticate(bed.cookie(sessions[1]), client: "192.0.2.1")
        bed.pass(.seconds(12 * 3600))
        #expect(try await bed.refusal(bed.cookie(sessions[1])).type == "session-ended")
        #expect(bed.delays.value.isEmpty)
    }

    @Test func `of several cookies the usable one counts, and a bearer token goes before them`() async throws {
        let bed = Bed()
        let (first, second) = (try bed.add("first"), try bed.add("second"))
        let session = try await bed.authenticator.logIn(token: first.text, client: "192.0.2.1").cookie
        var fields = HTTPFields()
        fields.append(HTTPField(name: .cookie, value: "sluice=old; \(session.prefix { $0 != ";" })"))
        #expect(try await bed.authenticator.authenticate(fields, client: "").token == first.id)
        fields[.authorization] = "Bearer \(second.text)"
        let principal = try await bed.authenticator.authenticate(fields, client: "")
        #expect(principal.token == second.id && !principal.isSession)
        fields[.authorization] = "Bearer \(AccessToken().text)"
        #expect(try await bed.refusal(fields).type == "invalid-token")
    }

    @Test func `a store that cannot be read is 503, and no token is accepted`() async throws {
        let probe = SettingsProbe(MemoryStore())
        probe.fail(StoreError(.failed, "The disk is gone."))
        let cache = TokenCache(TokenStore(probe), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        defer { cache.close() }
        let authenticator = Authenticator(
            tokens: cache, cookie: SessionCookie(basePath: "", isSecure: false),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let problem = try await #require(throws: Problem.self) {
            try await authenticator.authenticate([.authorization: "Bearer \(AccessToken().text)"], client: "")
        }
        #expect(problem.status == .serviceUnavailable && problem.fields[.retryAfter] == "2")
    }

    @Test func `a token still permits until it is revoked or expires, and asking does not use it`() async throws {
        let bed = Bed()
        let token = try bed.add("page") { $0.expires = bed.time.value + .seconds(60) }
        let fields = bed.bearer(token.text)
        let principal = try await bed.authenticator.authenticate(fields, client: "192.0.2.1")
        let counts = bed.authenticator.failureCounts
        #expect(await bed.authenticator.stillPermits(principal, [.read], fields: fields))
        #expect(await !bed.authenticator.stillPermits(principal, [.control], fields: fields))
        bed.pass(.seconds(60))
        #expect(await !bed.authenticator.stillPermits(principal, [.read], fields: fields))
        let other = try bed.add("gone")
        let second = try await bed.authenticator.authenticate(bed.bearer(other.text), client: "192.0.2.1")
        _ = try bed.store.revoke(other.id, now: bed.time.value)
        bed.pass(.milliseconds(500))
        #expect(await !bed.authenticator.stillPermits(second, [.read], fields: bed.bearer(other.text)))
        #expect(bed.authenticator.failureCounts == counts && bed.delays.value.isEmpty)
    }

    @Test func `a session still permits until its log-out or twelve hours without a request`() async throws {
        let bed = Bed()
        let token = try bed.add()
        var fields: [HTTPFields] = []
        for _ in 0..<2 {
            fields.append(
                bed.cookie(try await bed.authenticator.logIn(token: token.text, client: "192.0.2.1").cookie))
        }
        let principal = try await bed.authenticator.authenticate(fields[0], client: "192.0.2.1")
        #expect(await bed.authenticator.stillPermits(principal, [.read], fields: fields[0]))
        _ = await bed.authenticator.logOut(fields[0])
        #expect(await !bed.authenticator.stillPermits(principal, [.read], fields: fields[0]))
        bed.pass(.seconds(6 * 3600))
        #expect(await bed.authenticator.stillPermits(principal, [.read], fields: fields[1]))
        bed.pass(.seconds(6 * 3600))
        #expect(await !bed.authenticator.stillPermits(principal, [.read], fields: fields[1]))
    }
}

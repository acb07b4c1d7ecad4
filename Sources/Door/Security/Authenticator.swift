package import Commands
package import HTTPTypes
internal import Host
package import Logging
internal import Store
internal import Synchronization

/// Finds the principal of a request: by a bearer token, else by the cookie of a session.
package final class Authenticator: Sendable {
    private struct State {
        var failures = FailureTable()
        var counts: [AuthenticationFailure: Int] = [:]
        var sessions: SessionTable
    }

    private let tokens: TokenCache
    private let cookie: SessionCookie
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    private let isClockHeld: @Sendable () -> Bool
    private let sleep: @Sendable (Duration) async -> Void
    private let state: Mutex<State>
    private let codes: StoredLoginCodes?
    private let storedSessions: StoredSessions?

    /// - Parameters:
    ///   - codes: the login codes; nil: there are none.
    ///   - sessions: those of earlier doors.
    ///   - storedSessions: takes the changes of sessions; nil: they end with the door.
    ///   - clock: that of the store.
    ///   - isClockHeld: whether the wall clock is not trusted: no session ends by its age then.
    ///   - sleep: delays the response to a failure.
    package init(
        tokens: TokenCache, cookie: SessionCookie, logger: Logger,
        codes: StoredLoginCodes? = nil, sessions: SessionTable = SessionTable(),
        storedSessions: StoredSessions? = nil,
        clock: @escaping @Sendable () -> Timestamp = { .now },
        isClockHeld: @escaping @Sendable () -> Bool = { false },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        self.tokens = tokens
        self.cookie = cookie
        self.logger = logger
        self.codes = codes
        self.storedSessions = storedSessions
        state = Mutex(State(sessions: sessions))
        self.clock = clock
        self.isClockHeld = isClockHeld
        self.sleep = sleep
    }

    /// How often requests were refused, by reason.
    package var failureCounts: [AuthenticationFailure: Int] { state.withLock { $0.counts } }

    /// - Parameter client: the address of the client, after trusted proxies.
    /// - Throws: 401 with a challenge; 429 where this client has failed too often; 503 while the store cannot be read.
    package func authenticate(_ fields: HTTPFields, client: String) async throws(Problem) -> Principal {
        let authorization = fields[values: .authorization]
        guard authorization.isEmpty else {
            guard authorization.count == 1, let text = Self.bearer(authorization[0]) else {
                throw await refusal(
                    .malformed, "The Authorization field must be one “Bearer” and a token of Sluice.", client)
            }
            return try await principal(ofToken: text, client: client)
        }
        let ids = cookie.ids(in: fields).prefix(4)
        for id in ids {
            guard let token = changeSessions({ $0.use(id, now: clock(), isClockHeld: isClockHeld) }) else { continue }
            return try await principal(ofSession: token)
        }
        count(ids.isEmpty ? .missing : .session)
        throw ids.isEmpty
            ? .unauthorized(.missing, "This needs a token: send “Authorization: Bearer” and the token, or log in.")
            : .unauthorized(.session, "The session has ended; log in again.")
    }

    /// Whether a principal that was authenticated still has one of some scopes, for a request or a response that lasts.
    /// Neither a use of the token or the session nor a failure of the client is counted. While the tokens cannot be read,
    /// it has.
    /// - Parameter fields: of its request.
    package func stillPermits(_ principal: Principal, _ scopes: Set<Scope>, fields: HTTPFields) async -> Bool {
        if principal.isSession {
            let now = clock()
            let hasSession = state.withLock { state in
                cookie.ids(in: fields).contains {
                    state.sessions.token($0, now: now, isClockHeld: isClockHeld) == principal.token
                }
            }
            guard hasSession else { return false }
        }
        do throws(StoreError) {
            guard let record = try await tokens.token(principal.token) else { return false }
            return record.state(at: clock()) == .usable && !record.scopes.isDisjoint(with: scopes)
        } catch {
            return true
        }
    }

    // MARK: Login

    /// Begins a session for a token that a person typed in, and ends the earlier one of the browser.
    /// - Parameters:
    ///   - fields: of the request, with the cookie of the earlier session.
    ///   - client: as in ``authenticate(_:client:)``.
    /// - Returns: the value of `Set-Cookie`, and the principal.
    /// - Throws: as ``authenticate(_:client:)``. The earlier session goes on then.
    package func logIn(
        token text: String, fields: HTTPFields = [:], client: String
    ) async throws(Problem) -> (cookie: String, principal: Principal) {
        let trimmed = text.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }
        let principal = try await principal(ofToken: String(trimmed), client: client)
        guard principal.grant == nil else {
            // Many grants would have many sessions.
            throw Problem(
                .forbidden, "login-forbidden",
                "The token “\(principal.name)” was made to send uploads, and opens no session; log in with another one."
            )
        }
        return await begin(principal, fields, client)
    }

    /// As ``logIn(token:fields:client:)``, for a code, which is used up.
    package func logIn(
        code: String, fields: HTTPFields = [:], client: String
    ) async throws(Problem) -> (cookie: String, principal: Principal) {
        guard let token = try await token(ofCode: code) else {
            throw await refusal(
                .code, "The login link was used already, or is older than 10 minutes; make a new one.", client)
        }
        return await begin(try await principal(ofSession: token), fields, client)
    }

    private func token(ofCode code: String) async throws(Problem) -> String? {
        guard let codes else { return nil }
        let now = clock()
        do throws(StoreError) {
            return try await BlockingPool.shared.run { () throws(StoreError) in
                try codes.redeem(code, now: now)
            }
        } catch {
            throw unreadable(error)
        }
    }

    /// Ends the sessions of a request, and waits until the store has that.
    /// - Returns: the value of `Set-Cookie` that removes the cookie.
    package func logOut(_ fields: HTTPFields) async -> String {
        await storeSessions { sessions in
            for id in cookie.ids(in: fields) { sessions.end(id) }
        }
        return cookie.removal
    }

    private func begin(
        _ principal: Principal, _ fields: HTTPFields, _ client: String
    ) async -> (cookie: String, principal: Principal) {
        var principal = principal
        principal.isSession = true
        let id = await storeSessions { [token = principal.token] sessions in
            for earlier in cookie.ids(in: fields) { sessions.end(earlier) }
            return sessions.begin(token: token, now: clock())
        }
        logger.info(
            "A session has begun.",
            metadata: ["token": "\(principal.token)", "name": "\(principal.name)", "client": "\(client)"])
        return (cookie.setting(id), principal)
    }

    // MARK: Sessions

    /// Changes the sessions. The changes are handed in under the lock, so that the store gets them in their order.
    /// - Parameter written: called when the store has the changes, or could not take them.
    private func changeSessions<Value: Sendable>(
        _ body: (inout SessionTable) -> Value, written: @escaping @Sendable () -> Void = {}
    ) -> Value {
        let (value, isOver) = state.withLock { state in
            let value = body(&state.sessions)
            let changes = state.sessions.takeChanges()
            guard let storedSessions, !changes.isEmpty else { return (value, true) }
            storedSessions.write(changes, then: written)
            return (value, false)
        }
        if isOver { written() }
        return value
    }

    /// Changes the sessions, and waits until the store has the changes or could not take them.
    private func storeSessions<Value: Sendable>(_ body: (inout SessionTable) -> Value) async -> Value {
        let (written, writer) = AsyncStream.makeStream(of: Void.self)
        let value = changeSessions(body) { writer.finish() }
        for await _ in written {}
        return value
    }

    // MARK: Tokens

    /// The credentials of the scheme Bearer, whose name has no case (RFC 9110, section 11.1).
    private static func bearer(_ value: String) -> String? {
        let parts = value.split(separator: " ", omittingEmptySubsequences: true)
        return parts.count == 2 && parts[0].lowercased() == "bearer" ? String(parts[1]) : nil
    }

    private func principal(ofToken text: String, client: String) async throws(Problem) -> Principal {
        let token: AccessToken
        do throws(AccessTokenError) { token = try AccessToken(parsing: text) } catch {
            let sentence = error.description
            throw await refusal(.malformed, "\(sentence.prefix(1).uppercased())\(sentence.dropFirst()).", client)
        }
        // Only the holder of the secret hears of the state of the token.
        guard let record = try await record(token.id), record.matches(token) else {
            throw await refusal(
                .unknown, "The token is not known here; “sluice token list” shows the tokens of this door.", client,
                token: token.id)
        }
        do throws(AuthenticationFailure) { try check(record) } catch {
            throw await refusal(error, Self.detail(error, record), client, token: record.id)
        }
        tokens.markUsed(record, at: clock())
        return record.principal(isSession: false)
    }

    private func principal(ofSession token: String) async throws(Problem) -> Principal {
        guard let record = try await record(token) else {
            changeSessions { $0.end(token: token) }
            count(.session)
            throw .unauthorized(.session, "The token of the session was removed; log in with another one.")
        }
        do throws(AuthenticationFailure) { try check(record) } catch {
            // A token has not expired where the clock jumps back.
            if error != .expired || !isClockHeld() { changeSessions { $0.end(token: token) } }
            count(error)
            throw .unauthorized(.session, "The session has ended: \(Self.detail(error, record))")
        }
        tokens.markUsed(record, at: clock())
        return record.principal(isSession: true)
    }

    private func check(_ record: TokenRecord) throws(AuthenticationFailure) {
        switch record.state(at: clock()) {
        case .usable: return
        case .expired: throw .expired
        case .revoked: throw .revoked
        }
    }

    private static func detail(_ failure: AuthenticationFailure, _ record: TokenRecord) -> String {
        let time = failure == .revoked ? record.revoked : record.expires
        let event = failure == .revoked ? "was revoked" : "has expired"
        return "The token “\(record.name)” \(event)\(time.map { " at \($0)" } ?? ""); ask for a new one."
    }

    private func record(_ id: String) async throws(Problem) -> TokenRecord? {
        do throws(StoreError) {
            return try await tokens.token(id)
        } catch {
            throw unreadable(error)
        }
    }

    private func unreadable(_ error: StoreError) -> Problem {
        logger.error("The tokens cannot be read: \(error.message)")
        return Problem(
            .serviceUnavailable, "store-unavailable", "The tokens cannot be read now; try again.",
            fields: [.retryAfter: "2"])
    }

    // MARK: Failures

    private func count(_ failure: AuthenticationFailure) { state.withLock { $0.counts[failure, default: 0] += 1 } }

    /// Counts and logs a failure, and waits as long as the response is delayed.
    /// - Parameter token: the public id of the token, where the client sent one.
    private func refusal(
        _ failure: AuthenticationFailure, _ detail: String, _ client: String, token: String? = nil
    ) async -> Problem {
        let key = ClientNetwork.key(client)
        let (count, verdict) = state.withLock { state in
            state.counts[failure, default: 0] += 1
            return state.failures.add(key, now: clock())
        }
        // The first failures, then each second, fourth, eighth …: a client must not fill the log.
        if count <= FailureTable.freeCount || count.nonzeroBitCount == 1 {
            var metadata: Logger.Metadata = [
                "client": "\(client)", "reason": "\(failure.rawValue)", "failures": "\(count)",
            ]
            if let token { metadata["token"] = "\(token)" }
            logger.notice("A request was refused: it has no usable token.", metadata: metadata)
        }
        switch verdict {
        case .delay(.zero): return .unauthorized(failure, detail)
        case .delay(let delay):
            await sleep(delay)
            state.withLock { $0.failures.release(key) }
            return .unauthorized(failure, detail)
        case .refuse:
            return Problem(
                .tooManyRequests, "too-many-failures",
                "Too many requests of this client had no usable token; wait, and check the token.",
                fields: [.retryAfter: "5"])
        }
    }
}

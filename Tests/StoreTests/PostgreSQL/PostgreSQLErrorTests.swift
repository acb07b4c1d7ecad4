import CPostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite struct PostgreSQLErrorTests {
    private func error(
        _ state: String, _ severity: ServerReport.Severity = .error, function: String? = nil
    ) throws -> PostgreSQLError {
        var report = ServerReport(severity: severity, sqlState: try #require(SQLState(state)), message: "it failed")
        report.function = function
        return PostgreSQLError(report, from: "PostgreSQL at h:1", statement: "claim")
    }

    @Test(arguments: [
        ("40001", StoreError.Code.busy, PostgreSQLError.Recovery.repeatTransaction),
        ("40P01", .busy, .repeatTransaction), ("55P03", .busy, .repeatTransaction),
        ("57014", .busy, .repeatTransaction),
        ("08006", .unreachable, .reconnect), ("08P01", .unreachable, .reconnect), ("57P01", .unreachable, .reconnect),
        ("57P02", .unreachable, .reconnect), ("57P03", .unreachable, .reconnect), ("25006", .unreachable, .reconnect),
        ("53300", .unreachable, .reconnect), ("25P03", .unreachable, .reconnect), ("57P05", .unreachable, .reconnect),
        ("53100", .full, .none), ("53200", .exhausted, .none), ("XX001", .corrupt, .none), ("XX002", .corrupt, .none),
        ("42501", .permission, .none), ("28000", .permission, .none), ("28P01", .permission, .none),
        ("3D000", .missing, .none), ("3F000", .missing, .none), ("42P01", .missing, .none), ("57P04", .missing, .none),
        ("22021", .invalid, .none), ("26000", .unsuitable, .none), ("42P05", .unsuitable, .none),
        ("23505", .failed, .none), ("XX000", .failed, .none), ("0A000", .failed, .none), ("ZZZZZ", .failed, .none),
    ])
    func `an SQLSTATE has a code and a recovery`(
        state: String, code: StoreError.Code, recovery: PostgreSQLError.Recovery
    ) throws {
        let error = try error(state)
        #expect(error.code == code)
        #expect(error.recovery == recovery)
        #expect(error.sqlState?.text == state)
        #expect(error.message.hasPrefix("PostgreSQL at h:1: it failed (SQLSTATE \(state), statement “claim”)"))
        #expect(error.message.hasSuffix(".") && !error.isOutcomeUnknown)
    }

    @Test(arguments: [
        ("no such database: queue", StoreError.Code.missing), ("password authentication failed", .permission),
        ("SASL authentication failed", .permission), ("unsupported startup parameter: options", .unsuitable),
        ("query_wait_timeout", .unreachable),
    ])
    func `the errors of PgBouncer are told apart by their texts`(message: String, code: StoreError.Code) throws {
        let state = try #require(SQLState("08P01"))
        let report = ServerReport(severity: .fatal, sqlState: state, message: message)
        #expect(PostgreSQLError(report, from: "PostgreSQL at h:1").code == code)
    }

    @Test func `a missing store is made by the command that the error names`() throws {
        for state in ["3D000", "3F000", "42P01"] {
            #expect(try error(state).message.contains("“sluice store create”"))
        }
    }

    @Test func `a fatal error closes the connection`() throws {
        #expect(try error("XX000", .fatal).recovery == .reconnect)
        #expect(try error("XX000", .panic).code == .unreachable)
        #expect(try error("57014", .fatal).recovery == .reconnect)
        // Another connection is refused as this one.
        #expect(try error("28P01", .fatal).recovery == .none)
    }

    @Test func `a statement whose plan is outdated runs again on a new connection`() throws {
        let error = try error("0A000", function: "RevalidateCachedQuery")
        #expect(error.code == .busy && error.recovery == .reconnect)
    }

    @Test(arguments: ["", "4000", "400011", "40p01", "40 01", "4000é"])
    func `a text that is not an SQLSTATE is none`(text: String) { #expect(SQLState(text) == nil) }

    @Test func `an unknown outcome says so`() {
        let unknown = PostgreSQLError.lost("PostgreSQL at h:1", "the connection is lost", outcomeUnknown: true)
        #expect(unknown.isOutcomeUnknown && unknown.code == .unknown && unknown.recovery == .reconnect)
        #expect(unknown.message.contains("may be in the database or not"))
        #expect(!PostgreSQLError.lost("PostgreSQL at h:1", "x").isOutcomeUnknown)
    }

    @Test(arguments: [
        (
            #"connection to server at "h" (1.2.3.4), port 5 failed: FATAL:  28P01: password authentication failed for user "u""#
                + "\nLOCATION:  auth_failed, auth.c:326\n", "28P01", #"password authentication failed for user "u""#
        ),
        (
            "connection to server at “h” failed: FATAL:  28000: no entry, SSL encryption\nLOCATION:  a, b\n"
                + "connection to server at “h” failed: FATAL:  3D000: no database: x\nLOCATION:  a, b\n", "3D000",
            "no database: x"
        ),
        ("FEHLER:  53300: zu viele", "53300", "zu viele"),
    ])
    func `the error of a refused connection is found in libpq's text`(text: String, state: String, message: String)
        throws
    {
        let report = try #require(ServerReport(connecting: text))
        #expect(report.sqlState.text == state && report.message == message)
    }

    @Test(arguments: ["", "\n", "connection refused", ":  ", ":  12345", ":  12345:", "x:  1234: y", "::::::::::::"])
    func `a text of libpq without an SQLSTATE has no error of a server`(text: String) {
        #expect(ServerReport(connecting: text) == nil)
    }

    // MARK: Passwords

    @Test(arguments: [
        ("nothing to hide", "nothing to hide"), ("a secret9 b secret9", "a *** b ***"),
        ("password=other x", "password=*** x"), ("PASSWORD = 'it''s' x", "PASSWORD = ***'s' x"),
        ("sslpassword='a\\'b' x", "sslpassword=*** x"), ("password=", "password=***"), ("password", "password"),
        ("passwordpassword=x", "passwordpassword=***"), ("postgres://u:other@h/d", "postgres://u:***@h/d"),
        ("postgres://u@h:1/d", "postgres://u@h:1/d"), ("a postgres://u:o@t@h b://x", "a postgres://u:***@h b://x"),
        ("?user=u&password=other&x=y", "?user=u&password=***&x=y"), ("", ""),
    ])
    func `a password is replaced in a text`(text: String, expected: String) {
        #expect(PasswordRedaction(["secret9", ""]).text(text) == expected)
    }

    @Test func `a text with a password of three letters is not shown`() {
        #expect(!PasswordRedaction(["abc"]).text("user abcd").contains("abc"))
        #expect(PasswordRedaction(["abc"]).text("user xyz") == "user xyz")
    }

    @Test func `redaction takes any text`() {
        var random = SeededRandom.announced("redacted texts")
        let parts = ["password", "=", "'", "\\", " ", "://", ":", "@", "/", "&", "secret9", "ä", "\""]
        for _ in RandomRounds("redacted texts", 500...20_000) {
            let count = random.number(in: 0..<12)
            let text = (0..<count).map { _ in parts[random.number(in: 0..<parts.count)] }.joined()
            #expect(!PasswordRedaction(["secret9"]).text(text).contains("secret9"), "\(text)")
        }
    }

    // MARK: Library

    /// The error of a library that is loaded by another name.
    private func error(of library: String) throws -> PostgreSQLError {
        var detail = [CChar](repeating: 0, count: 300)
        let code = cpostgresql_probe(library, &detail, detail.count)
        let text = String(decoding: detail.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return try #require(throws: PostgreSQLError.self) { try PostgreSQLConnection.checkLibrary(code, text) }
    }

    @Test func `a missing library names the package`() throws {
        let error = try error(of: "libpq-missing.so.9")
        #expect(error.code == .unsuitable)
        #expect(error.storeError.message.hasPrefix("The library libpq.so.5 is missing: install the package libpq5"))
        #expect(error.storeError.message.contains("libpq-missing.so.9"))
    }

    @Test func `an old library names the function that it lacks`() throws {
        let error = try error(of: "libc.so.6")
        #expect(error.code == .unsuitable && error.storeError.message.contains("lacks the function PQlibVersion"))
    }

    // MARK: Server

    @Test(arguments: [(130_022, "13.22"), (90_624, "9.624"), (139_999, "13.9999")])
    func `a server before PostgreSQL 14 is unsuitable`(version: Int, text: String) throws {
        let error = try #require(throws: PostgreSQLError.self) {
            try PostgreSQLConnection.checkVersion(version, of: "PostgreSQL at h:1")
        }
        #expect(error.code == .unsuitable && error.recovery == .none)
        #expect(error.message.contains("the version is \(text), and a store needs PostgreSQL 14"))
    }

    @Test func `PostgreSQL 14 and later are suitable`() throws {
        for version in [140_000, 150_018, 200_001] {
            try PostgreSQLConnection.checkVersion(version, of: "PostgreSQL at h:1")
        }
    }
}

extension PostgreSQLError {
    fileprivate var message: String { storeError.message }
}

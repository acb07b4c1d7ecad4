/// Why a statement or a transaction failed, or the connection to the server.
struct PostgreSQLError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The step that can bring the same work to its end.
    enum Recovery: Sendable, Equatable {
        /// Nothing is written, and the connection is usable: the same transaction again.
        case repeatTransaction
        /// The connection is closed: the same work on a new one, which may lead to another host.
        case reconnect
        /// The same work fails again until a person changes something.
        case none
    }

    /// The code, and a sentence that says what to do.
    var storeError: StoreError
    var recovery: Recovery
    /// Nil for an error that the server has not reported.
    var sqlState: SQLState?
    /// The constraint that a row violates.
    var constraint: String?
    /// The name of the statement that failed.
    var statement: String?
    /// Of a lost connection, for a sentence that goes on; nil for every other error.
    private(set) var reason: String?
    /// Whether the transaction may be committed: its COMMIT was sent, or the end of a statement outside of a transaction, and
    /// the connection was lost before the answer. A read that has failed so is simply repeated.
    var isOutcomeUnknown: Bool { storeError.code == .unknown }

    var code: StoreError.Code { storeError.code }
    var description: String { storeError.message }

    init(_ code: StoreError.Code, _ message: String, recovery: Recovery = .none) {
        storeError = StoreError(code, message)
        self.recovery = recovery
    }

    /// A decision of the program inside a transaction, which rolls it back.
    init(_ error: StoreError) {
        storeError = error
        recovery = .none
    }

    /// An error that the server has reported.
    /// - Parameters:
    ///   - server: the subject of the sentence: “PostgreSQL at db1:5432, …”.
    ///   - statement: the name of the statement; nil while connecting.
    init(_ report: ServerReport, from server: String, statement: String? = nil) {
        let meaning = Meaning(report)
        let place = statement.map { ", statement “\($0)”" } ?? ""
        let detail = report.detail.map { ": \($0.trimmedStop)" } ?? ""
        let advice = meaning.advice ?? report.hint?.trimmedStop
        self.init(
            meaning.code,
            "\(server): \(report.message.trimmedStop)\(detail) (SQLSTATE \(report.sqlState)\(place))"
                + (advice.map { "; \($0)" } ?? "") + ".", recovery: meaning.recovery)
        sqlState = report.sqlState
        constraint = report.constraint
        self.statement = statement
    }

    /// The connection is lost, or its answer is late.
    /// - Parameter reason: without a full stop.
    static func lost(_ server: String, _ reason: String, outcomeUnknown: Bool = false) -> PostgreSQLError {
        var error = PostgreSQLError(
            outcomeUnknown ? .unknown : .unreachable,
            outcomeUnknown
                ? "\(server): \(reason); the transaction was being committed and may be in the database or not: look for "
                    + "its rows before you repeat it."
                : "\(server): \(reason); check that the server runs and that this machine reaches it, then try again.",
            recovery: .reconnect)
        error.reason = reason
        return error
    }
}

extension PostgreSQLError {
    /// The meaning of an SQLSTATE for a store. Pure. See the manual, appendix “PostgreSQL Error Codes”.
    struct Meaning: Equatable {
        var code: StoreError.Code
        var recovery: Recovery
        /// Nil where the server's hint is the best advice.
        var advice: String?

        init(_ report: ServerReport) {
            self.init(report.sqlState, function: report.function)
            if report.sqlState.text == "08P01",
                let meaning = Self.ofPgBouncer.first(where: { report.message.hasPrefix($0.key) })
            {
                self = meaning.value
            }
            // The connection is gone for any reason.
            if report.closesConnection, code == .failed { self = Self.closed }
            if report.closesConnection, recovery == .repeatTransaction { recovery = .reconnect }
        }

        private init(_ code: StoreError.Code, _ recovery: Recovery, _ advice: String?) {
            (self.code, self.recovery, self.advice) = (code, recovery, advice)
        }

        /// PgBouncer reports all its errors by one code, in English (src/client.c of 1.18). The keys are beginnings.
        private static let ofPgBouncer: KeyValuePairs<String, Meaning> = [
            "unsupported startup parameter": refusedSettings,
            "no such database": missing,
            "password authentication failed": refusedLogin,
            "SASL authentication failed": refusedLogin,
            "no such user": refusedLogin,
        ]
        private static let missing = Meaning(
            .missing, .none, "there is no store; “sluice store create” makes one")
        private static let refusedLogin = Meaning(
            .permission, .none, "check the user and the password of the URL, and pg_hba.conf of the server")
        private static let refusedSettings = Meaning(
            .unsuitable, .none,
            "the URL leads to a pooler that refuses the settings of a session; have it ignore them (PgBouncer: "
                + "ignore_startup_parameters = options), and give them to the role as “sluice store create” prints, or set "
                + "store.direct to the URL of the server itself")
        private static let closed = Meaning(
            .unreachable, .reconnect, "try again; another host of the URL is used where there is one")

        private init(_ state: SQLState, function: String?) {
            switch state.text {
            // serialization_failure, deadlock_detected, lock_not_available, query_canceled (also statement_timeout)
            case "40001", "40P01", "55P03", "57014": self.init(.busy, .repeatTransaction, "try again")
            // admin_shutdown, crash_shutdown, cannot_connect_now, idle_session_timeout,
            // idle_in_transaction_session_timeout, read_only_sql_transaction: a demoted primary, too_many_connections
            case "57P01", "57P02", "57P03", "57P05", "25P03", "25006", "53300": self = Self.closed
            case "53100": self.init(.full, .none, "make room on the disk of the server")
            // data_corrupted, index_corrupted
            case "XX001", "XX002":
                self.init(.corrupt, .none, "the database is damaged: restore it from a backup of the server")
            case "42501":
                self.init(.permission, .none, "give the role the rights that “sluice store create” prints")
            // invalid_catalog_name, invalid_schema_name, undefined_table, database_dropped
            case "3D000", "3F000", "42P01", "57P04": self = Self.missing
            // duplicate_schema
            case "42P06": self.init(.invalid, .none, "name another one by the parameter “schema” of the URL")
            // character_not_in_repertoire, untranslatable_character: NUL above all
            case "22021", "22P05": self.init(.invalid, .none, "text has to be UTF-8 without NUL")
            // invalid_sql_statement_name, duplicate_prepared_statement
            case "26000", "42P05":
                self.init(
                    .unsuitable, .none,
                    "the URL leads to a pooler that does not keep prepared statements, such as PgBouncer before 1.21; set "
                        + "store.direct to the URL of the server itself")
            // “cached plan must not change result type”, after a migration. A new connection prepares anew.
            case "0A000" where function == "RevalidateCachedQuery": self.init(.busy, .reconnect, "try again")
            default:
                switch state.classCode {
                case "08": self = Self.closed
                case "28": self = Self.refusedLogin
                case "53": self.init(.exhausted, .none, "try again, or give the server more memory")
                default: self.init(.failed, .none, nil)
                }
            }
        }
    }
}

extension String {
    /// Without spaces and full stops at the end, so that a sentence can go on.
    fileprivate var trimmedStop: String {
        var text = Substring(self)
        while let last = text.last, last == "." || last.isWhitespace { text.removeLast() }
        return String(text)
    }
}

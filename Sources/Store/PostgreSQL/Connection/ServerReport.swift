internal import CPostgreSQL

/// An error, a warning or a notice as the server has sent it (manual of PostgreSQL, “Error and Notice Message Fields”).
struct ServerReport: Hashable, Sendable {
    enum Severity: String, Sendable {
        case error = "ERROR"
        /// The server closes the connection.
        case fatal = "FATAL"
        /// The server closes all connections.
        case panic = "PANIC"
        case warning = "WARNING"
        case notice = "NOTICE"
        case debug = "DEBUG"
        case info = "INFO"
        case log = "LOG"
    }

    var severity: Severity
    var sqlState: SQLState
    /// In the language of the server.
    var message: String
    var detail: String?
    var hint: String?
    /// The constraint that a row violates.
    var constraint: String?
    /// The function in the source of the server that has reported it.
    var function: String?

    var closesConnection: Bool { severity == .fatal || severity == .panic }

    func redacted(by redaction: PasswordRedaction) -> ServerReport {
        var report = self
        report.message = redaction.text(message)
        report.detail = detail.map { redaction.text($0) }
        report.hint = hint.map { redaction.text($0) }
        return report
    }
}

extension ServerReport {
    /// - Parameter result: an error of a statement, or a notice.
    /// - Returns: nil for an error that libpq itself has made, without an SQLSTATE.
    init?(_ result: OpaquePointer) {
        func field(_ field: cpostgresql_field) -> String? {
            cpostgresql_error_field(result, CInt(field.rawValue)).map { String(cString: $0) }
        }
        guard let sqlState = field(CPOSTGRESQL_FIELD_SQLSTATE).flatMap({ SQLState($0) }) else { return nil }
        self.sqlState = sqlState
        severity = field(CPOSTGRESQL_FIELD_SEVERITY).flatMap { Severity(rawValue: $0) } ?? .error
        message = field(CPOSTGRESQL_FIELD_MESSAGE) ?? "no message"
        detail = field(CPOSTGRESQL_FIELD_DETAIL)
        hint = field(CPOSTGRESQL_FIELD_HINT)
        constraint = field(CPOSTGRESQL_FIELD_CONSTRAINT)
        function = field(CPOSTGRESQL_FIELD_FUNCTION)
    }

    /// The error in libpq's text of a connection that was not established, with verbose errors:
    /// `… failed: FATAL:  28P01: password authentication failed for user "x"`, then a line `LOCATION:  …`. Such an error
    /// has its code only there. The last one counts, because libpq tries again without TLS where `sslmode` allows it.
    /// - Returns: nil where the text has no SQLSTATE.
    init?(connecting text: String) {
        let lines = text.split(separator: "\n").map { Array($0.utf8) }
        for line in lines.reversed() {
            // Two spaces, five characters, a colon and a space. The word before them is localized.
            for start in line.indices.reversed() where start + 10 <= line.count {
                guard line[start] == UInt8(ascii: ":"), line[start + 1] == UInt8(ascii: " "),
                    line[start + 2] == UInt8(ascii: " "), line[start + 8] == UInt8(ascii: ":"),
                    line[start + 9] == UInt8(ascii: " "),
                    let sqlState = SQLState(String(decoding: line[(start + 3)..<(start + 8)], as: UTF8.self))
                else { continue }
                let message = String(decoding: line[(start + 10)...], as: UTF8.self)
                self.init(severity: .fatal, sqlState: sqlState, message: message)
                return
            }
        }
        return nil
    }
}

/// The code of an error, five digits and capital letters (manual, appendix “PostgreSQL Error Codes”).
struct SQLState: Hashable, Sendable, CustomStringConvertible {
    let text: String

    /// - Returns: nil for a text that is not a code.
    init?(_ text: String) {
        let isCode = text.utf8.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
        }
        guard text.utf8.count == 5, isCode else { return nil }
        self.text = text
    }

    /// The first two characters, which name the class of the error.
    var classCode: Substring { text.prefix(2) }

    var description: String { text }
}

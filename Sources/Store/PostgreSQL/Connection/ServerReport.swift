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

/// Replaces passwords in a text by “***”. Pure.
///
/// libpq puts no password into its messages; this holds even where a version of it or a server does.
struct PasswordRedaction: Sendable {
    /// The passwords, without empty ones.
    let secrets: [String]

    /// A shorter password cannot be replaced: it would be part of other words, and the gaps would show it.
    static let minReplaced = 4
    private static let mark = Array("***".utf8)

    init(_ secrets: [String]) { self.secrets = secrets.filter { !$0.isEmpty } }

    /// The text without the passwords, without the value of each `password=`, and without that of `scheme://user:…@`.
    func text(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for secret in secrets {
            let pattern = Array(secret.utf8)
            guard Self.first(pattern, in: bytes, from: 0) != nil else { continue }
            guard pattern.count >= Self.minReplaced else { return "(not shown, because it may contain the password)" }
            bytes = Self.replacing(pattern, in: bytes)
        }
        bytes = Self.withoutValues(bytes)
        return String(decoding: Self.withoutCredentials(bytes), as: UTF8.self)
    }

    private static func first(_ pattern: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard !pattern.isEmpty, bytes.count >= pattern.count, start <= bytes.count - pattern.count else { return nil }
        return (start...bytes.count - pattern.count).first { bytes[$0..<$0 + pattern.count].elementsEqual(pattern) }
    }

    private static func replacing(_ pattern: [UInt8], in bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var start = 0
        while let index = first(pattern, in: bytes, from: start) {
            result += bytes[start..<index] + mark
            start = index + pattern.count
        }
        return result + bytes[start...]
    }

    /// Replaces the values of `password=` and of names that end so, as `sslpassword=`.
    private static func withoutValues(_ bytes: [UInt8]) -> [UInt8] {
        let name = Array("password".utf8)
        let lowered = bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        var result: [UInt8] = []
        var start = 0
        while let index = first(name, in: lowered, from: start) {
            var value = index + name.count
            while value < bytes.count, bytes[value] == UInt8(ascii: " ") { value += 1 }
            guard value < bytes.count, bytes[value] == UInt8(ascii: "=") else {
                result += bytes[start..<index + name.count]
                start = index + name.count
                continue
            }
            value += 1
            while value < bytes.count, bytes[value] == UInt8(ascii: " ") { value += 1 }
            result += bytes[start..<value] + mark
            start = end(ofValue: value, bytes)
        }
        return result + bytes[start...]
    }

    /// Behind a value in quotes, or before the next space, `&` or quote.
    private static func end(ofValue start: Int, _ bytes: [UInt8]) -> Int {
        guard start < bytes.count else { return start }
        if bytes[start] == UInt8(ascii: "'") {
            var index = start + 1
            while index < bytes.count, bytes[index] != UInt8(ascii: "'") {
                index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
            }
            return min(index + 1, bytes.count)
        }
        return bytes[start...].firstIndex { $0 <= UInt8(ascii: " ") || "&\"'".utf8.contains($0) } ?? bytes.count
    }

    private static func withoutCredentials(_ bytes: [UInt8]) -> [UInt8] {
        let scheme = Array("://".utf8)
        var result: [UInt8] = []
        var start = 0
        while let index = first(scheme, in: bytes, from: start) {
            let authority = index + scheme.count
            let end = bytes[authority...].firstIndex { $0 <= UInt8(ascii: " ") || $0 == UInt8(ascii: "/") }
            let at = bytes[authority..<(end ?? bytes.count)].lastIndex(of: UInt8(ascii: "@"))
            guard let at, let colon = bytes[authority..<at].firstIndex(of: UInt8(ascii: ":")) else {
                result += bytes[start..<authority]
                start = authority
                continue
            }
            result += bytes[start...colon] + mark
            start = at
        }
        return result + bytes[start...]
    }
}

/// Why and where a text is not a cron expression that fires.
package struct CronExpressionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The whole expression.
    package var expression: String
    /// The offset of the problem: bytes of UTF-8 from the start of the expression, from 0.
    package var position: Int
    /// The problem and what to write instead, without expression and position.
    package var message: String

    /// One sentence with the position counted from 1: `cron expression “0 22-4 * * *”, byte 3: …`.
    package var description: String {
        "cron expression “\(String(decoding: expression.utf8.prefix(80), as: UTF8.self))”, byte \(position + 1): \(message)"
    }
}

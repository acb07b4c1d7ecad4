/// When a schedule fires: a cron expression of 5 fields, of 6 with seconds first, a macro, or `@every 10m`.
///
/// The fields are minute, hour, day of the month, month and day of the week. Each is a list of `*`, `a`, `a-b`,
/// `*/n`, `a-b/n` and `a/n`. Months and days of the week have names in any case, and Sunday is 0 and 7. A day of
/// the month may be `L`, a day of the week `5L` (the last Friday) or `2#3` (the third Tuesday), and either `?`,
/// which is `*`. Where one of them begins with `*`, both must match; otherwise one is enough, as in Debian's cron.
package struct CronExpression: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case pattern(CronPattern)
        /// The milliseconds from slot to slot, counted from 1970-01-01T00:00:00Z.
        case every(Int64)
    }

    /// The expression as it was written.
    package let text: String
    let kind: Kind

    /// - Throws: ``CronExpressionError`` for a text that is not an expression, and for an expression that never
    ///   fires, for example on 30 February. The search for a day covers 50 years, because a 29 February of one
    ///   weekday comes after 40 years at the latest.
    package init(parsing text: String) throws(CronExpressionError) {
        kind = try CronExpressionParser(text).kind()
        self.text = text
    }

    /// Whether it fires in each hour, or at equal distances: the minute or the hour begins with `*`, or it is `@every`.
    package var isInterval: Bool {
        switch kind {
        case .pattern(let pattern): pattern.isInterval
        case .every: true
        }
    }

    /// The longest search for a match: 50 years in seconds.
    static let horizon: Int64 = 50 * 366 * 86_400
}

extension CronExpression: CustomStringConvertible {
    /// The expression as it was written.
    package var description: String { text }
}

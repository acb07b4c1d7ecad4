/// Reads a whole cron expression: macros, `@every`, and the division into fields.
struct CronExpressionParser {
    private let text: String
    private let bytes: [UInt8]
    /// The positions of the words between spaces and tabs; at least one.
    private let words: [Range<Int>]

    /// The longest expression in bytes. A list of all minutes has 169.
    private static let maxLength = 1024

    init(_ text: String) throws(CronExpressionError) {
        self.text = text
        let bytes = Array(text.utf8.prefix(Self.maxLength + 1))
        self.bytes = bytes
        guard bytes.count <= Self.maxLength else {
            throw CronExpressionError(
                expression: text, position: Self.maxLength, message: "an expression has at most \(Self.maxLength) bytes"
            )
        }
        words = bytes.indices.split { bytes[$0] == UInt8(ascii: " ") || bytes[$0] == UInt8(ascii: "\t") }
            .map { $0.startIndex..<$0.endIndex }
        guard !words.isEmpty else { throw error(0, "the expression is empty; \(Self.example)") }
    }

    func kind() throws(CronExpressionError) -> CronExpression.Kind {
        guard bytes[words[0].lowerBound] == UInt8(ascii: "@") else { return .pattern(try pattern()) }
        let name = string(words[0]).lowercased()
        if name == "@every" { return .every(try period()) }
        guard words.count == 1 else {
            throw error(words[1].lowerBound, "“\(name)” stands alone; remove “\(string(words[1]))”")
        }
        if name == "@reboot" {
            throw error(
                words[0].lowerBound,
                "“@reboot” is not a time; start the command from the system's own boot, or use “@daily”")
        }
        guard let fields = Self.macros[name] else {
            throw error(
                words[0].lowerBound,
                "“\(name)” is not a macro; use @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly or “@every 10m”"
            )
        }
        return try CronExpressionParser(fields).kind()
    }

    private static let macros = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
    ]
    private static let example = "write five fields, for example “30 2 * * *” for 02:30 each day"

    private func pattern() throws(CronExpressionError) -> CronPattern {
        guard words.count == 5 || words.count == 6 else {
            throw error(
                words.count > 6 ? words[6].lowerBound : bytes.count,
                "an expression has 5 fields, or 6 with seconds first, and this one has \(words.count); \(Self.example)")
        }
        var fields: [CronField: CronFieldValues] = [:]
        for (field, range) in zip(CronField.allCases.suffix(words.count), words) {
            var parser = CronFieldParser(field, of: text, bytes, in: range)
            fields[field] = try parser.values()
        }
        let pattern = CronPattern(fields)
        // 2000-01-01, so that the answer for a text is always the same.
        let start: Int64 = 946_684_800
        guard pattern.first(from: start, before: start + CronExpression.horizon) != nil else {
            let days = words[words.count - 3..<words.count].map(string).joined(separator: " ")
            throw error(
                words[words.count - 3].lowerBound,
                "no day of 50 years matches the days and months “\(days)”; change the day of the month or the month")
        }
        return pattern
    }

    /// The milliseconds of `@every 1h30m`: numbers with the units d, h, m and s.
    private func period() throws(CronExpressionError) -> Int64 {
        guard words.count == 2 else {
            throw error(
                words.count > 2 ? words[2].lowerBound : bytes.count,
                "“@every” takes one duration; write for example “@every 10m” or “@every 1h30m”")
        }
        var (sum, number, hasDigit): (Int64, Int64, Bool) = (0, 0, false)
        for position in words[1] {
            let byte = bytes[position]
            if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                number = min(number * 10 + Int64(byte - UInt8(ascii: "0")), Self.maxNumber)
                hasDigit = true
            } else if hasDigit, let unit = Self.units[byte | 0x20] {
                sum = min(sum + number * unit, CronExpression.horizon * 1000 + 1)
                (number, hasDigit) = (0, false)
            } else {
                throw error(
                    position,
                    "“\(string(words[1]))” is not a duration; use whole numbers with d, h, m or s, for example “1h30m”")
            }
        }
        guard !hasDigit else {
            throw error(
                words[1].upperBound - 1, "the last number has no unit; write d, h, m or s after it, for example “10m”")
        }
        guard (1000...CronExpression.horizon * 1000).contains(sum) else {
            throw error(
                words[1].lowerBound, "“\(string(words[1]))” is not a period from 1s to 18300d; choose one in this range"
            )
        }
        return sum
    }

    private static let units: [UInt8: Int64] = [
        UInt8(ascii: "d"): 86_400_000, UInt8(ascii: "h"): 3_600_000, UInt8(ascii: "m"): 60_000, UInt8(ascii: "s"): 1000,
    ]
    /// 100 billion days in milliseconds fit into 64 bits.
    private static let maxNumber: Int64 = 99_999_999_999

    private func string(_ range: Range<Int>) -> String {
        String(decoding: bytes[range.lowerBound..<min(range.upperBound, range.lowerBound + 40)], as: UTF8.self)
    }

    private func error(_ position: Int, _ message: String) -> CronExpressionError {
        CronExpressionError(expression: text, position: position, message: message)
    }
}

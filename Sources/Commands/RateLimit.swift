/// A rate limit that commands name: how many of them may start in a time, and how many may run at once.
public struct RateLimit: Hashable, Sendable {
    public var starts: StartRate
    /// Starts in one moment, 1…``StartRate/maxBurst``; nil for ``StartRate/defaultBurst``.
    public var burst: Int?
    /// Commands that run at the same time, 1…``maxAtOnce``; nil: no limit.
    public var atOnce: Int?

    /// - Parameters:
    ///   - burst: nil, the default, for ``StartRate/defaultBurst``.
    ///   - atOnce: nil, the default, for no limit.
    public init(starts: StartRate, burst: Int? = nil, atOnce: Int? = nil) {
        self.starts = starts
        self.burst = burst
        self.atOnce = atOnce
    }

    /// The maximum of ``atOnce``.
    public static let maxAtOnce = 100_000
    /// For messages.
    package static let nameForm = "use 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”"

    /// Whether a text is a name of a limit: 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”.
    public static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}

extension RateLimit {
    /// `{"starts":"30/s","burst":5,"atOnce":null}`
    package var json: JSONValue {
        func number(_ value: Int?) -> JSONValue { value.map { .integer(Int64($0)) } ?? .null }
        return .object([
            .init("starts", .string(starts.description)), .init("burst", number(burst)),
            .init("atOnce", number(atOnce)),
        ])
    }

    /// Reads ``json`` back; nil for a value of another form.
    package init?(_ value: JSONValue) {
        guard let starts = value["starts"]?.string.flatMap({ StartRate(text: $0) }) else { return nil }
        func number(_ name: String, _ maximum: Int) -> Int? {
            value[name]?.integer.flatMap { Int(exactly: $0) }.flatMap { (1...maximum).contains($0) ? $0 : nil }
        }
        self.init(
            starts: starts, burst: number("burst", StartRate.maxBurst), atOnce: number("atOnce", Self.maxAtOnce))
    }

    /// Reads the value of a setting; nil for a value of another form.
    package init?(setting: String) {
        guard let value = try? JSONValue(parsing: setting.utf8) else { return nil }
        self.init(value)
    }
}

/// A limit of the starts of commands: `100/min`, `30/s`, `5/h`, `1000/day`.
public struct StartRate: Hashable, Sendable {
    /// The time in which ``count`` commands may start.
    public enum Period: String, Hashable, Sendable, CaseIterable {
        case second = "s"
        case minute = "min"
        case hour = "h"
        case day = "day"

        public var duration: Duration {
            switch self {
            case .second: .seconds(1)
            case .minute: .seconds(60)
            case .hour: .seconds(3600)
            case .day: .seconds(86_400)
            }
        }

        /// Reads the name of a unit, also spelt out; nil for anything else.
        init?(unit: String) {
            switch unit {
            case "s", "sec", "second": self = .second
            case "m", "min", "minute": self = .minute
            case "h", "hour": self = .hour
            case "d", "day": self = .day
            default: return nil
            }
        }
    }

    /// Starts in a period: 1…``maxCount``.
    public let count: Int
    public let period: Period

    public static let maxCount = 1_000_000
    /// A coordinator holds up to two commands in memory for each start of a burst.
    public static let maxBurst = 10_000

    /// Nil for a count out of its range.
    public init?(count: Int, period: Period) {
        guard (1...Self.maxCount).contains(count) else { return nil }
        self.count = count
        self.period = period
    }

    /// Reads a count, a slash and a unit; nil for anything else.
    public init?(text: String) {
        let parts = text.utf8.split(separator: .slash, omittingEmptySubsequences: false)
        guard parts.count == 2, (1...7).contains(parts[0].count),
            parts[0].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let count = Int(String(decoding: parts[0], as: UTF8.self)),
            let period = Period(unit: String(decoding: parts[1], as: UTF8.self))
        else { return nil }
        self.init(count: count, period: period)
    }

    /// The forms that ``init(text:)`` reads, for messages.
    package static let forms = "30/s, 100/min, 5/h or 1000/day, with a count from 1 to \(maxCount)"

    /// The burst where none is given: a tenth of the count, but at least the starts of one second.
    ///
    /// In a window of one period at most the count and the burst start. A tenth keeps that within 110 % for a
    /// remote side that counts by windows, and still starts a small batch at once. The starts of one second let a
    /// dispatcher that is late by some milliseconds reach the rate.
    public var defaultBurst: Int {
        min(max(count / 10, startsPerSecond), Self.maxBurst)
    }

    /// The starts of one second, rounded up.
    var startsPerSecond: Int {
        let seconds = Int(period.duration.components.seconds)
        return (count + seconds - 1) / seconds
    }

    /// Whether the state of a bucket outlives its coordinator. An empty bucket costs at most a second's starts
    /// where the period is one second.
    package var isDurable: Bool { period != .second }
}

extension StartRate: CustomStringConvertible {
    /// The form that ``init(text:)`` reads.
    public var description: String { "\(count)/\(period.rawValue)" }
}

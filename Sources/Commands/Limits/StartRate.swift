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

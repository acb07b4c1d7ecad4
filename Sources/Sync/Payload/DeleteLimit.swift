internal import Commands
internal import Operations

/// The largest share, or number, of rows that a replacing sync deletes because they are missing: `maxDelete`.
enum DeleteLimit: Sendable, Equatable {
    /// 0 to 100.
    case percent(Int64)
    case count(Int64)

    static let standard = DeleteLimit.percent(50)
    /// Up to this number a share is not applied, except for 0 %: in a small collection half is soon reached.
    static let unlimitedCount = 10

    init(_ value: JSONValue) throws(PayloadError) {
        switch value {
        case .integer(let count) where count >= 0: self = .count(count)
        case .string(let text):
            let digits = text.utf8.dropLast()
            guard text.utf8.last == UInt8(ascii: "%"), (1...3).contains(digits.count),
                digits.allSatisfy(\.isASCIIDigit), let percent = Int64(text.dropLast()), percent <= 100
            else { fallthrough }
            self = .percent(percent)
        default:
            throw PayloadError(.data, "“maxDelete” is a number of records, or a share of them from “0%” to “100%”")
        }
    }

    /// - Parameter rows: of the collection.
    func permits(_ deletions: Int, of rows: Int) -> Bool {
        switch self {
        // Counts of rows are far below the limit of 64 bits.
        case .percent(let percent):
            return (percent > 0 && deletions <= Self.unlimitedCount)
                || Int64(deletions) * 100 <= percent * Int64(rows)
        case .count(let count): return Int64(deletions) <= count
        }
    }

    var text: String {
        switch self {
        case .percent(let percent): "\(percent)%"
        case .count(let count): "\(count)"
        }
    }

    var json: JSONValue {
        switch self {
        case .percent: .string(text)
        case .count(let count): .integer(count)
        }
    }
}

/// The missed times of a schedule that still fire. A time is missed when it fires later than the schedule's
/// grace allows, for example because no coordinator ran. A time within the grace is not missed: it fires too.
package enum MissedPolicy: Hashable, Sendable {
    /// The newest missed time, once.
    case one
    /// None of them.
    case skip
    /// The newest ones, from the oldest of them on: 1…``maxCount``. The overlap policy applies among them, so
    /// that all of them run only with ``OverlapPolicy/allow``.
    case all(Int)

    package static let maxCount = 1000

    /// The number of missed times that may fire.
    package var limit: Int {
        switch self {
        case .one: 1
        case .skip: 0
        case .all(let count): min(max(count, 0), Self.maxCount)
        }
    }

    /// Reads `one`, `skip` or `all:5`; nil for anything else.
    package init?(text: String) {
        switch text {
        case "one": self = .one
        case "skip": self = .skip
        default:
            let digits = text.utf8.dropFirst(4)
            guard text.beginsWithBytes(of: "all:"), (1...4).contains(digits.count),
                digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let count = Int(String(decoding: digits, as: UTF8.self)), (1...Self.maxCount).contains(count)
            else { return nil }
            self = .all(count)
        }
    }

    /// The forms that ``init(text:)`` reads, for messages.
    package static let forms = "“one”, “skip”, or “all:N” with N from 1 to \(maxCount)"
}

extension MissedPolicy: CustomStringConvertible {
    /// The form that ``init(text:)`` reads.
    package var description: String {
        switch self {
        case .one: "one"
        case .skip: "skip"
        case .all(let count): "all:\(count)"
        }
    }
}

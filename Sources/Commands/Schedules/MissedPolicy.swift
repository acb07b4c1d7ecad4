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

/// The treatment of a due time while the command of the last one has not ended.
///
/// A command in doubt has ended. A command that waits for its backoff has not. Several times that are due in one
/// decision follow each other: the command of the first has not ended when the second is decided.
package enum OverlapPolicy: String, Hashable, Sendable, CaseIterable {
    /// The due time does not fire.
    case skip
    /// The new command waits until the last one has ended. At most one waits; further times do not fire.
    case queue
    /// The last command is cancelled, and the new one starts when it has ended.
    case cancel
    /// The new command starts beside the last one.
    case allow

    /// Whether the commands of the schedule follow each other in a lane of their own.
    package var usesLane: Bool { self == .queue || self == .cancel }

    /// Reads the name of a case; nil for anything else.
    package init?(text: String) { self.init(rawValue: text) }

    /// The forms that ``init(text:)`` reads, for messages.
    package static let forms = "“skip”, “queue”, “cancel” or “allow”"
}

extension OverlapPolicy: CustomStringConvertible {
    /// The form that ``init(text:)`` reads.
    package var description: String { rawValue }
}

/// How far the last command of a schedule is, for its ``OverlapPolicy``.
package enum ScheduledCommandState: Hashable, Sendable {
    /// It waits in the schedule's lane for the command before it.
    case waiting
    /// It has not ended and does not wait in the lane: it is ready, runs, or waits for its backoff.
    case running
    /// It has ended. A command in doubt counts as ended.
    case ended

    /// - Parameters:
    ///   - status: the status of the command. The one of a flow is `blocked` until its nodes have ended.
    ///   - waitsInLane: another command holds the schedule's lane.
    package init(status: CommandStatus, waitsInLane: Bool) {
        self = status.isFinal ? .ended : waitsInLane ? .waiting : .running
    }
}

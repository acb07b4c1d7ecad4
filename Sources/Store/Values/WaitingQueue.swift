package import Commands

/// The waiting commands that one rule holds back together, in one shard or in all.
package struct WaitingQueue: Sendable, Equatable {
    package enum Name: Hashable, Sendable {
        /// Ready commands of a destination that have no rate limit.
        case destination(Destination)
        /// Ready commands of a rate limit.
        case limit(String)
        /// Commands whose `notBefore` has not come: the end of a backoff, or a time that their producer chose.
        case notBefore
    }

    /// Rate limits of a shard whose queues are read.
    package static let maxLimits = 100
    /// Commands of a queue that are counted in each shard.
    package static let maxCounted = 1000
    /// Commands that one reading of a shard counts. A queue behind them counts as one command that is not all.
    package static let maxCountedInAll = 20_000

    package var count: Int
    /// Whether `count` has all commands of the queue.
    package var isComplete: Bool
    /// Of the first command: the most urgent, or for ``Name/notBefore`` the one that is due next.
    package var qos: QualityOfService
    /// When the first command was submitted.
    package var since: Timestamp
    /// The next `notBefore`; nil for ready commands.
    package var due: Timestamp?
    /// Why the first command was released by its last execution; nil where it was not executed, or has failed.
    package var release: Release?

    package struct Release: Sendable, Equatable {
        package var reason: String
        package var at: Timestamp

        package init(reason: String, at: Timestamp) {
            self.reason = reason
            self.at = at
        }
    }

    /// The queues of a shard, in the order in which they are counted.
    static func names(_ limits: [String], _ destinations: [Destination]) -> [Name] {
        [.notBefore] + limits.map { .limit($0) } + destinations.map { .destination($0) }
    }

    /// A queue whose first command is `first`.
    package init(count: Int, isComplete: Bool, first: Command) {
        self.count = count
        self.isComplete = isComplete
        qos = first.qos
        since = first.createdAt
        due = first.notBefore > .zero ? first.notBefore : nil
        release =
            first.status == .new && first.claim > 0
            ? first.reason.map { Release(reason: $0, at: first.updatedAt) } : nil
    }

    /// Adds the queue of the same name of another shard. The newest release says most about the present.
    package mutating func add(_ other: WaitingQueue) {
        count += other.count
        isComplete = isComplete && other.isComplete
        if let released = other.release, released.at > release?.at ?? .zero {
            (release, qos) = (released, other.qos)
        } else if release == nil, other.qos > qos {
            qos = other.qos
        }
        since = min(since, other.since)
        due = [due, other.due].compactMap(\.self).min()
    }
}

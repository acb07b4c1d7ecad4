package import Commands
internal import Host

/// The condition of a store as a whole: for `doctor`, `status` and the pages, and before anything runs on it.
package protocol StoreHealth: Sendable {
    /// The errors of the unusable shards, damaged, foreign or missing, as far as they were opened. The others keep working.
    var problems: [StoreError] { get }
    /// The errors of the usable shards that refuse submits.
    var overloads: [StoreError] { get }
    /// When the store was copied, where a shard that was opened is a backup; nil for a store in use.
    var backupTime: Timestamp? { get }
    /// Why nothing runs on the store, where it is a copy that is not marked as a backup; nil for an original.
    func copyWarning() -> String?
    /// Call it before work on the store: both the original and its copy would execute the same commands.
    /// - Throws: `.backup` where the store is a backup; `.unsuitable` where it is another copy.
    func requireOriginal() throws(StoreError)
    /// How commits become durable, in words.
    func durability() throws(StoreError) -> String
    /// The state of the server of the store, for a person. Default: nothing, as of a store in files.
    func serverFindings() throws(StoreError) -> [ServerFinding]
    /// The counts of the work of this process on the server of the store; nil for a store in files. It takes no time.
    var statistics: StoreStatistics? { get }
    /// The age of the oldest transaction that another session of the server has open, of those that the role may see. While
    /// it is open, no row that was deleted since makes room.
    /// - Returns: nil where none is open, and for a store in files.
    func oldestTransaction() throws(StoreError) -> Duration?
}

extension StoreHealth {
    package func serverFindings() throws(StoreError) -> [ServerFinding] { [] }
    package var statistics: StoreStatistics? { nil }
    package func oldestTransaction() throws(StoreError) -> Duration? { nil }
}

/// A fact about the server of a store.
package struct ServerFinding: Sendable, Equatable {
    package enum State: Sendable { case ok, note, warning, broken }

    /// Names the check, in a word or two.
    package var check: String
    package var state: State
    package var sentence: String

    package init(_ check: String, _ state: State, _ sentence: String) {
        (self.check, self.state, self.sentence) = (check, state, sentence)
    }
}

/// Counts of the work of a process on the server of a store, since it opened the store.
package struct StoreStatistics: Sendable, Equatable {
    /// Upper bounds of ``commitCounts``, ascending.
    package static let commitBounds: [Duration] = [
        .microseconds(500), .milliseconds(1), .microseconds(2500), .milliseconds(5), .milliseconds(10),
        .milliseconds(25), .milliseconds(50), .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
        .milliseconds(2500), .seconds(5), .seconds(10),
    ]

    /// Transactions that were committed, by the time from their first statement until the answer to `COMMIT`. The last count
    /// is of those beyond all bounds.
    package var commitCounts = [Int](repeating: 0, count: commitBounds.count + 1)
    package var commitTime: Duration = .zero
    /// Requests that waited for an answer, of reads too.
    package var roundTrips = 0
    /// Commits that read the rows of related commands in advance.
    package var relationLoads = 0
    /// Those of ``relationLoads`` that needed further rows, which cost round trips under the locks of the shards.
    package var relationMisses = 0
    /// Transactions that were made again, because the server had ended them in favour of others, or their wait for a lock.
    package var repeats = 0
    /// Connections that were lost, or closed because an answer was late.
    package var lostConnections = 0

    package init() {}

    package var commits: Int { commitCounts.reduce(0, +) }

    mutating func committed(since start: MonotonicTime) {
        let duration = MonotonicTime.now - start
        commitCounts[Self.commitBounds.firstIndex { duration <= $0 } ?? Self.commitBounds.count] += 1
        commitTime += duration
    }
}

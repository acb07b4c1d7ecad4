internal import Commands
internal import HeapModule
internal import Host
internal import NetworkControl

/// Commands that a failure of the link has released, uncharged. Each waits 1 s × 2ⁿ, at most 60 s, ± 25 %,
/// before it is offered again, so that one command does not try a failing link over and over. Pure.
///
/// The waits of a destination end as soon as it answers any command. They are in memory only: a new
/// coordinator offers each command at once.
struct LinkFailureWaits: Sendable {
    private struct Entry: Sendable {
        var destination: Destination
        /// Failures in a row that left ``highest`` as it was.
        var failures: Int
        /// The highest offset at which an execution has ended.
        var highest: Int64
        /// End of the wait; nil while the command is offered again.
        var until: MonotonicTime?
    }

    private struct Due: Sendable, Comparable {
        var at: MonotonicTime
        var id: CommandID

        static func < (left: Self, right: Self) -> Bool { (left.at, left.id) < (right.at, right.id) }
    }

    private var entries: [CommandID: Entry] = [:]
    private var byDestination: [Destination: Set<CommandID>] = [:]
    private var dues = Heap<Due>()

    static let minWait: Duration = .seconds(1)
    static let maxWait: Duration = .seconds(60)
    static let jitter = 0.25

    /// As the events of links have it, for `explain`.
    static let published = LinkFailureWait(first: minWait, limit: maxWait, longest: maxWait * (1 + jitter))

    /// - Parameter chance: in 0..<1.
    static func wait(afterFailures failures: Int, chance: Double) -> Duration {
        let plain = min(minWait * (1 << min(max(failures - 1, 0), 6)), maxWait)
        return plain * (1 + jitter * (2 * chance - 1))
    }

    /// The link failed the command.
    /// - Parameter offset: durable, from which the next execution goes on. A new highest one begins the waits again, for a
    ///   link that stalls now and then still brings the command further.
    mutating func failed(
        _ id: CommandID, to destination: Destination, offset: Int64 = 0, chance: Double, now: MonotonicTime
    ) {
        let highest = entries[id]?.highest ?? 0
        let failures = offset > highest ? 1 : (entries[id]?.failures ?? 0) + 1
        let until = now + Self.wait(afterFailures: failures, chance: chance)
        entries[id] = Entry(
            destination: destination, failures: failures, highest: max(highest, offset), until: until)
        byDestination[destination, default: []].insert(id)
        dues.insert(Due(at: until, id: id))
        if dues.count > 2 * entries.count + 64 {
            dues = Heap(dues.unordered.filter { entries[$0.id]?.until == $0.at })
        }
    }

    /// The command must not be offered yet.
    func holds(_ id: CommandID) -> Bool { entries[id]?.until != nil }

    /// The commands of a destination that wait.
    func waiting(for destination: Destination) -> [CommandID] {
        (byDestination[destination] ?? []).filter { entries[$0]?.until != nil }
    }

    /// Ends the waits that are over.
    /// - Returns: their commands.
    mutating func takeDue(now: MonotonicTime) -> [CommandID] {
        var ids: [CommandID] = []
        while let due = dues.min, due.at <= now {
            dues.removeMin()
            guard entries[due.id]?.until == due.at else { continue }
            entries[due.id]?.until = nil
            ids.append(due.id)
        }
        return ids
    }

    /// When the next wait is over; nil while none is.
    var nextDue: MonotonicTime? { dues.min?.at }

    /// The command is offered as a probe.
    mutating func offered(_ id: CommandID) { if entries[id] != nil { entries[id]?.until = nil } }

    /// The destination has answered: no command waits for it any more.
    /// - Returns: the commands that waited.
    mutating func answered(_ destination: Destination) -> [CommandID] {
        guard let ids = byDestination.removeValue(forKey: destination) else { return [] }
        var waited: [CommandID] = []
        for id in ids where entries.removeValue(forKey: id)?.until != nil { waited.append(id) }
        return waited
    }

    /// The command has ended or is not ready, or starts over.
    mutating func forget(_ id: CommandID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        byDestination[entry.destination]?.remove(id)
        if byDestination[entry.destination]?.isEmpty == true { byDestination[entry.destination] = nil }
    }
}

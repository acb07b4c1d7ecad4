internal import Commands
internal import HeapModule

/// Commands that a failure of the link has released, uncharged: each waits 1 s × 2ⁿ, at most 60 s, ± 25 %, before it is
/// offered again, so that a link which fails is not tried over and over by the same command. Pure.
///
/// The waits of a destination end as soon as it answers any command. They are kept in memory only: a coordinator that starts
/// offers each command once at once.
struct LinkFailureWaits: Sendable {
    private struct Entry: Sendable {
        var destination: Destination
        /// Failures in a row.
        var failures: Int
        /// In nanoseconds of the monotonic clock; nil: it was offered again and has not ended.
        var until: Int64?
    }

    private struct Due: Sendable, Comparable {
        var at: Int64
        var id: CommandID

        static func < (left: Self, right: Self) -> Bool { (left.at, left.id) < (right.at, right.id) }
    }

    private var entries: [CommandID: Entry] = [:]
    private var byDestination: [Destination: Set<CommandID>] = [:]
    private var dues = Heap<Due>()

    static let shortest: Int64 = 1_000_000_000
    static let longest: Int64 = 60_000_000_000
    static let jitter = 0.25

    /// - Parameter chance: in 0..<1.
    static func wait(afterFailures failures: Int, chance: Double) -> Int64 {
        let plain = min(shortest << Int64(min(max(failures - 1, 0), 6)), longest)
        return Int64(Double(plain) * (1 + jitter * (2 * chance - 1)))
    }

    /// The link failed the command.
    mutating func failed(_ id: CommandID, to destination: Destination, chance: Double, now: Int64) {
        let failures = (entries[id]?.failures ?? 0) + 1
        let until = now + Self.wait(afterFailures: failures, chance: chance)
        entries[id] = Entry(destination: destination, failures: failures, until: until)
        byDestination[destination, default: []].insert(id)
        dues.insert(Due(at: until, id: id))
        if dues.count > 2 * entries.count + 64 {
            dues = Heap(dues.unordered.filter { entries[$0.id]?.until == $0.at })
        }
    }

    /// It must not be offered yet.
    func holds(_ id: CommandID) -> Bool { entries[id]?.until != nil }

    /// The commands of a destination that wait.
    func waiting(for destination: Destination) -> [CommandID] {
        (byDestination[destination] ?? []).filter { entries[$0]?.until != nil }
    }

    /// Ends the waits that are over. - Returns: their commands.
    mutating func takeDue(now: Int64) -> [CommandID] {
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
    var nextDue: Int64? { dues.min?.at }

    /// It goes out, as a probe.
    mutating func offered(_ id: CommandID) { if entries[id] != nil { entries[id]?.until = nil } }

    /// The destination has answered: no command waits for it any more. - Returns: those that did.
    mutating func answered(_ destination: Destination) -> [CommandID] {
        guard let ids = byDestination.removeValue(forKey: destination) else { return [] }
        var waited: [CommandID] = []
        for id in ids where entries.removeValue(forKey: id)?.until != nil { waited.append(id) }
        return waited
    }

    /// The command has ended, or begins anew.
    mutating func forget(_ id: CommandID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        byDestination[entry.destination]?.remove(id)
        if byDestination[entry.destination]?.isEmpty == true { byDestination[entry.destination] = nil }
    }
}

internal import Commands
internal import Store
internal import Synchronization
internal import Wire

/// The observations of a run that the store does not keep: which executions run, which ids were acknowledged, and the
/// transitions so far. It asks the oracles, and reports the first violation.
final class Ledger: Sendable {
    private struct State {
        var executions: [CommandID: [Oracles.Execution]] = [:]
        var acknowledged: [CommandID] = []
        var last: [CommandID: Transition] = [:]
        var newest: [Int: Int64] = [:]
        var pruned: Set<CommandID> = []
        var dead: Set<Int> = []
        var counters: [String: Int] = [:]
    }

    private let state = Mutex(State())
    private let store: MemoryStore
    private let fail: @Sendable (Violation) -> Never

    /// - Parameter fail: reports a violation, and ends the process.
    init(_ store: MemoryStore, fail: @escaping @Sendable (Violation) -> Never) {
        self.store = store
        self.fail = fail
    }

    func require(_ violation: Violation?) { if let violation { fail(violation) } }

    /// Counts an event that a workload must reach now and then.
    func count(_ event: String) { state.withLock { $0.counters[event, default: 0] += 1 } }
    var counters: [String: Int] { state.withLock { $0.counters } }

    // MARK: Executions

    /// An operation is called.
    func begin(_ claim: CommandClaim, in process: Int) {
        count("executions")
        state.withLock { $0.executions[claim.id, default: []].append(.init(process: process, claim: claim)) }
        step(claim, in: process)
    }

    /// An operation is about to send.
    func step(_ claim: CommandClaim, in process: Int) {
        let others = state.withLock { state in
            state.executions[claim.id, default: []].filter { !$0.hasEnded && !state.dead.contains($0.process) }
        }
        require(Oracles.mayExecute(.init(process: process, claim: claim), others: others, row: store.command(claim.id)))
    }

    /// An operation returns.
    func end(_ claim: CommandClaim, in process: Int) {
        state.withLock { state in
            for index in state.executions[claim.id, default: []].indices
            where state.executions[claim.id]?[index] == .init(process: process, claim: claim) {
                state.executions[claim.id]?[index].hasEnded = true
            }
        }
    }

    func died(_ process: Int) {
        count("deaths")
        state.withLock { _ = $0.dead.insert(process) }
    }

    /// The log of started executions that a process has left.
    func started(by process: Int) -> StartedExecutions {
        state.withLock { state in
            var reading = StartedExecutions()
            for (id, executions) in state.executions {
                guard let last = executions.last(where: { $0.process == process }) else { continue }
                if last.hasEnded { reading.ended.insert(id) } else { reading.executing.insert(id) }
            }
            return reading
        }
    }

    // MARK: Rows

    func acknowledged(_ id: CommandID) { state.withLock { $0.acknowledged.append(id) } }
    var acknowledged: [CommandID] { state.withLock { $0.acknowledged } }

    /// Checks the transitions of a shard since the last call.
    func audit(shard: Int) {
        let after = state.withLock { $0.newest[shard, default: 0] }
        guard let newest = try? store.lastTransition(shard: shard), newest > after,
            let events = try? store.events(shard: shard, after: after, limit: .max).events
        else { return }
        for event in events {
            let next = event.transition
            simulationNote(next)
            let (last, seq) = state.withLock { state in
                defer {
                    state.last[next.id] = next
                    state.newest[shard] = next.seq
                }
                return (state.last[next.id], state.newest[shard, default: 0])
            }
            require(Oracles.follows(next, after: last, seq: seq))
        }
    }

    /// Commands that are gone after a call of `prune`.
    func pruned(among ids: [CommandID]) {
        for id in ids where store.command(id) == nil {
            let last = state.withLock { state -> Transition? in
                if state.pruned.insert(id).inserted { state.counters["pruned", default: 0] += 1 }
                return state.last[id]
            }
            if let last, !last.status.isFinal {
                fail(Violation(oracle: "O2", id: id, words: "it was \(last.status), and was pruned"))
            }
        }
    }

    /// Checks every row.
    /// - Parameter isSettled: no message and no cascade is under way.
    func auditAll(isSettled: Bool) {
        for shard in 0..<store.shardCount {
            audit(shard: shard)
            for problem in (try? store.relationProblems(shard: shard)) ?? [] {
                let id = problem.split { !$0.isHexDigit && $0 != "-" }.lazy.compactMap { CommandID($0) }.first
                fail(Violation(oracle: "O6", id: id, words: "shard \(shard): \(problem)"))
            }
        }
        let (known, last, pruned) = state.withLock { ($0.acknowledged, $0.last, $0.pruned) }
        for id in known { require(Oracles.exists(id, row: store.command(id), isPruned: pruned.contains(id))) }
        let rows = store.allCommands()
        let counts = store.counts().cells.mapValues { $0.values.reduce(0, +) }
        require(Oracles.agree(counts, with: rows))
        for row in rows {
            require(Oracles.agrees(row, with: last[row.id]))
            if let waits = try? store.dependencies(of: row.id, limit: 100) {
                require(
                    Oracles.isOwed(
                        row, open: waits.open, parents: waits.parents.map(\.command), isSettled: isSettled))
            }
            guard isSettled else { continue }
            if let flow = try? store.flow(row.id) {
                require(Oracles.follows(row, fromOpen: flow.open, failed: flow.failed, isSealed: true))
            }
            if let batch = try? store.batch(row.id) {
                require(
                    Oracles.follows(row, fromOpen: batch.open, failed: batch.failed, isSealed: batch.isSealed))
            }
        }
    }
}

extension MemoryStore {
    /// In the order of their ids.
    func allCommands() -> [Command] {
        var all: [Command] = []
        var after: CommandID?
        while true {
            let page = page(CommandFilter(), order: .oldestFirst, after: after, limit: 1000, until: nil)
            all += page.commands
            guard let next = page.next else { return all }
            after = next
        }
    }
}

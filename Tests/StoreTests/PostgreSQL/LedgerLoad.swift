import Commands
import Foundation
import Host
import Store
import Synchronization
import TestSupport

@testable import Store

/// Programs that submit, claim and end commands at once on a store whose server fails, and a ledger of what was acknowledged
/// to them.
///
/// Each has a thread, a store and a worker's committer of its own, as a process has. A command is claimed by the program that
/// has submitted it.
final class LedgerLoad: Sendable {
    private struct Ledger {
        /// The names that were given to drafts.
        var attempted = 0
        /// The names of the drafts by the ids that were acknowledged.
        var submitted: [CommandID: String] = [:]
        var started: [CommandID: Int] = [:]
        var ended: Set<CommandID> = []
        var lastCommit: MonotonicTime?
        /// Outcomes that no fault of a server explains.
        var surprises: [String] = []

        /// Whether a command of a program has not ended, and none had a surprising outcome.
        func isOpen(_ program: Int) -> Bool {
            surprises.isEmpty
                && submitted.contains { $0.value.hasPrefix("\(program) ") && !ended.contains($0.key) }
        }
    }

    private let ledger = Mutex(Ledger())
    private let isOver = Atomic(false)
    private let running = DispatchGroup()

    /// Commands that ended.
    var ended: Int { ledger.withLock { $0.ended.count } }
    /// When the last commit was acknowledged.
    var lastCommit: MonotonicTime? { ledger.withLock { $0.lastCommit } }

    /// Starts the programs.
    /// - Parameter open: opens the store of one.
    init(programs: Int, _ open: @escaping @Sendable () throws -> PostgreSQLStore) throws {
        for number in 1...programs {
            let store = try open()
            try store.open(Session(seat: number, epoch: Int64(number), pid: 1, startTime: 1, bootID: "boot"))
            running.enter()
            startThread(named: "ledger load") { [self] in
                run(store, number)
                running.leave()
            }
        }
    }

    /// Ends the programs after their last commits.
    func finish() async {
        isOver.store(true, ordering: .relaxed)
        await BlockingPool.shared.run { self.running.wait() }
    }

    private func run(_ store: PostgreSQLStore, _ number: Int) {
        let committer = GroupCommitter<ExecutionWrite, CommitOutcome>(
            named: "ledger-\(number)", policy: .untilCommitted, isOptional: Self.isClaim)
        committer.start { writes, attempt throws(StoreError) in
            try store.apply(
                writes, group: store.commitGroup(of: 0), seat: number, epoch: Int64(number), attempt)
        } deliver: { [self, weak committer] batch in
            committer?.add(followers(of: batch))
        }
        while !isOver.load(ordering: .relaxed) {
            // So that a fault finds a few commands in each state, and not a queue of thousands.
            guard ledger.withLock({ $0.submitted.count - $0.ended.count }) < 200 else {
                usleep(1000)
                continue
            }
            committer.add(submit(to: store, number))
        }
        // A server that never comes back must not keep the test.
        let deadline = MonotonicTime.now + .seconds(60)
        while ledger.withLock({ $0.isOpen(number) }), .now < deadline { usleep(1000) }
        let isClosed = MonotonicSemaphore(value: 0)
        committer.close { isClosed.signal() }
        _ = isClosed.wait(until: deadline)
    }

    private static func isClaim(_ write: ExecutionWrite) -> Bool {
        if case .claim = write { true } else { false }
    }

    /// - Returns: the claims of the commands that were acknowledged.
    private func submit(to store: PostgreSQLStore, _ number: Int) -> [ExecutionWrite] {
        let first = ledger.withLock { ledger in
            defer { ledger.attempted += 8 }
            return ledger.attempted
        }
        let names = (first..<first + 8).map { "\(number) \($0)" }
        let drafts = names.map { name in CommandDraft.noop.with { $0.payload = Array("{\"name\":\"\(name)\"}".utf8) } }
        let results = store.submit(drafts, allowUnknownTypes: false)
        return ledger.withLock { ledger in
            var claims: [ExecutionWrite] = []
            for (name, result) in zip(names, results) {
                switch result {
                case .success(let submission):
                    ledger.submitted[submission.id] = name
                    ledger.lastCommit = .now
                    claims.append(.claim(submission.id, sent: true))
                case .failure(let error) where [.unreachable, .unknown, .busy].contains(error.code): break
                case .failure(let error): ledger.surprises.append("\(name): \(error)")
                }
            }
            return claims
        }
    }

    /// - Returns: the ends of what was claimed, and the claims that were given up.
    private func followers(of batch: GroupCommitter<ExecutionWrite, CommitOutcome>.Batch) -> [ExecutionWrite] {
        guard let outcomes = batch.outcomes else {
            if !batch.writes.isEmpty { usleep(5000) }
            return batch.writes
        }
        return ledger.withLock { ledger in
            ledger.lastCommit = .now
            var ends: [ExecutionWrite] = []
            for (write, outcome) in zip(batch.writes, outcomes) {
                switch outcome {
                case .claimed(let command, _, _, _):
                    ledger.started[command.id, default: 0] += 1
                    ends.append(.end(command.id, claim: command.claim, .success(result: nil)))
                case .done: ledger.ended.insert(write.id)
                case .refused, .replaced: ledger.surprises.append("\(write) has the outcome \(outcome)")
                }
            }
            return ends
        }
    }

    /// Compares the store with the ledger.
    /// - Returns: the differences; empty where nothing acknowledged is lost and nothing is there twice.
    func differences(from store: PostgreSQLStore) throws -> [String] {
        let ledger = ledger.withLock { $0 }
        var found: [String] = ledger.surprises
        var names: [String: [CommandID]] = [:]
        var commands: [CommandID: Command] = [:]
        var after: CommandID?
        while let page = Optional(try store.list(CommandFilter(), after: after, limit: 1000)), let last = page.last {
            for command in page { commands[command.id] = command }
            after = last.id
        }
        var payloads: [CommandID: String] = [:]
        for (id, name) in try store.payloads() { payloads[id] = name }
        for (id, name) in payloads { names[name, default: []].append(id) }
        for (name, ids) in names where ids.count > 1 { found.append("\(name) was submitted twice: \(ids)") }
        for (id, name) in ledger.submitted {
            guard let command = commands[id] else {
                found.append("\(id) was acknowledged and is lost")
                continue
            }
            if payloads[id] != "{\"name\":\"\(name)\"}" { found.append("\(id) has another payload") }
            if ledger.started[id] != 1 { found.append("\(id) was started \(ledger.started[id] ?? 0) times") }
            if !ledger.ended.contains(id) || command.status != .success { found.append("\(id) is \(command.status)") }
        }
        var made: [CommandID: [CommandStatus]] = [:]
        for shard in 0..<store.shardCount {
            var last: Int64 = 0
            while true {
                let transitions = try store.events(shard: shard, after: last, limit: 2000).events.map(\.transition)
                for transition in transitions {
                    last += 1
                    if transition.seq != last { found.append("shard \(shard) lacks the transition \(last)") }
                    last = transition.seq
                    made[transition.id, default: []].append(transition.status)
                }
                if transitions.isEmpty { break }
            }
        }
        for (id, statuses) in made where statuses != [.new, .queued, .sent, .success] && statuses != [.new] {
            found.append("\(id) has the transitions \(statuses)")
        }
        return found
    }

    /// For the log of the tests.
    var summary: String {
        ledger.withLock { "\($0.attempted) drafts, \($0.submitted.count) acknowledged, \($0.ended.count) ended" }
    }
}

extension PostgreSQLStore {
    fileprivate func payloads() throws -> [(CommandID, String)] {
        try read { transaction throws(StoreError) in
            try transaction.read(
                PostgreSQLStatement("payloads", "SELECT id, convert_from(payload, 'UTF8') FROM command")
            )
            .rows { row in (row[0] as CommandID, row[1] as String) }
        }
    }
}

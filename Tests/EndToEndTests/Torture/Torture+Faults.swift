import Commands
import Foundation
import Store
import Synchronization
import TestSupport

/// The faults, one after the other.
extension Torture {
    func hit(_ name: FaultSchedule.Name) { hits.withLock { $0[name, default: 0] += 1 } }

    /// The environment that drops a share of the messages of a process, and has the clock of the run; the same seed drops
    /// the same messages.
    /// - Parameter process: a number that no other process of the run has.
    func environment(drops share: Double, process: Int) -> [String: String?] {
        clock.environment.merging(["SLUICE_TEST_DROP": "\(share):\(seed &+ UInt64(process))"]) { $1 }
    }

    /// Reads the store beside every process but a restore.
    func reading<Value>(_ body: (SQLiteStore) throws -> Value) async throws -> Value {
        try await gate.pass {
            let store = try opened.withLock { opened in
                let store = try opened ?? installation.files()
                opened = store
                return store
            }
            return try body(store)
        }
    }

    func superviseSlot(_ slot: Int) async throws {
        var incarnation = 0
        while !isStopping.load(ordering: .relaxed) {
            guard fleet.mayStart(slot) else {
                try await Task.sleep(for: .milliseconds(10))
                continue
            }
            incarnation += 1
            let environment = environment(drops: 0.05, process: slot * 10_000 + incarnation)
            let child =
                switch slot {
                case 0: try installation.start("coordinator", environment: environment)
                case Self.door:
                    try installation.start("door", "--listen", "127.0.0.1:\(doorPort)", environment: environment)
                default:
                    try installation.start("worker", "--concurrency", "8", "--grace", "5s", environment: environment)
                }
            fleet.started(child, in: slot)
            let ending = await child.end
            fleet.end(slot)
            // A coordinator or a door may still find the lock of a killed one for a moment, and exits with 75.
            let isExpected =
                ending == .signalled(SIGKILL) && fleet.wasStruck(child) || ending == .exited(0)
                || ending == .signalled(SIGTERM) && fleet.wasAsked(child)
                || (slot == 0 || slot == Self.door) && ending == .exited(75)
            if !isExpected {
                ledger.unexpected("\(child.name) ended with \(ending): \(child.errors.suffix(500))")
                if incarnation > 5000 { return }
            }
        }
    }

    func inject(_ schedule: FaultSchedule) async throws {
        // Producers go on until then, also where a fault fails.
        defer { isUnderFire.store(false, ordering: .relaxed) }
        try await until("the first process of each slot") { self.fleet.processes.allSatisfy { $0 != nil } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, fault) in schedule.faults.enumerated() {
                try await Task.sleep(for: fault.after)
                switch fault.kind {
                case .kill(let slot):
                    // The slot may be empty between two processes. Kill the next one as soon as it exists.
                    let child = try await awaited("a process to kill") {
                        let child = self.fleet.processes[slot]
                        return self.fleet.strike(child, SIGKILL) ? child : nil
                    }
                    hit(.kill)
                    // Before the end is recorded the process would count as ready.
                    _ = await child.end
                case .stop(let slot, let pause):
                    guard let child = fleet.processes[slot], fleet.strike(child, SIGSTOP) else { continue }
                    hit(.stop)
                    guard let pause else { continue }
                    group.addTask {
                        try await Task.sleep(for: pause)
                        child.signal(SIGCONT)
                    }
                case .clock(let offset, let awaitsReport): try await setClock(offset, awaitsReport: awaitsReport)
                case .restart(let isKilled, let upIsKilled, let duration):
                    try await fleet.halt(by: isKilled ? SIGKILL : SIGTERM)
                    try await runUp(for: duration, isKilled: upIsKilled, number: number)
                    fleet.resume()
                case .backup: try await backUp(number)
                case .restore(let isKilled, let fraction):
                    try await fleet.halt(by: isKilled ? SIGKILL : SIGTERM)
                    try await restore(fraction)
                    fleet.resume()
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: The clock

    /// Sets the clock of every process.
    /// - Parameter awaitsReport: waits until the coordinator has seen it. A coordinator that dies before has not, and a
    ///   step of less than a day is unknown to the next one, so that ages may pass.
    private func setClock(_ offset: Duration, awaitsReport: Bool) async throws {
        let step = offset - clock.offset
        let coordinator = fleet.processes[0]
        let before = coordinator.map(SteppedClock.reports) ?? 0
        // A coordinator that starts may read the clock for the first time after the step.
        let isReady = coordinator?.errors.contains("Coordinator ready.") ?? false
        try clock.set(offset)
        hit(.clock)
        guard step > .seconds(10) || step < .seconds(-10) else { return }
        guard awaitsReport, isReady else { return agesHold.store(false, ordering: .relaxed) }
        var isSeen = false
        try await until("the report of a jump of the clock") {
            guard let coordinator else { return true }
            isSeen = SteppedClock.reports(of: coordinator) > before
            return isSeen || coordinator.ending != nil || coordinator.isStopped
        }
        if !isSeen { agesHold.store(false, ordering: .relaxed) }
    }

    // MARK: sluice up

    private func runUp(for duration: Duration, isKilled: Bool, number: Int) async throws {
        let up = try installation.start(
            "up", "--workers", "\(Self.workers)", "--concurrency", "8", "--grace", "5s", "--listen",
            "127.0.0.1:\(doorPort)", environment: environment(drops: 0.05, process: 3_000_000 + number))
        do {
            try await installation.ready(workers: Self.workers, up)
            try await Task.sleep(for: duration)
            hit(.restart)
        } catch let missed as Missed {
            ledger.unexpected("up: \(missed): \(up.errors.suffix(1000))")
        }
        up.signal(isKilled ? SIGKILL : SIGINT)
        let ending = try await up.end(within: .seconds(60))
        if ending != (isKilled ? .signalled(SIGKILL) : .exited(0)) {
            ledger.unexpected("up ended with \(ending): \(up.errors.suffix(1000))")
        }
    }

    // MARK: Backups

    private func backUp(_ number: Int) async throws {
        let begun = ledger.order.count
        let path = "\(installation.directory.path)/backup-\(number)"
        let backup = try await gate.pass {
            try await installation.sluice("backup", path, environment: clock.environment)
        }
        guard backup.code == 0 else { return ledger.unexpected("backup ended with \(backup.ending): \(backup.errors)") }
        let old = newestBackup.withLock { newest in
            defer { newest = (path, begun) }
            return newest?.path
        }
        if let old { try FileManager.default.removeItem(atPath: old) }
        hit(.backup)
    }

    /// - Parameter fraction: of the number of shards, which selects one; nil restores all.
    private func restore(_ fraction: Double?) async throws {
        guard let backup = newestBackup.withLock({ $0 }) else { return }
        let count = try await reading(\.shardCount)
        let shard = fraction.map { Int($0 * Double(count)) }
        try await gate.alone {
            opened.withLock { $0 = nil }
            // The children of a killed “up” may end a moment after it.
            var restore: Installation.Finished?
            try await until("the restore", within: .seconds(60)) {
                restore = try await installation.run(
                    program: "\(Installation.bin)/sluice",
                    ["restore", backup.path] + (shard.map { ["--shard", "\($0)"] } ?? []),
                    environment: clock.environment)
                return restore?.code != 75
            }
            guard restore?.code == 0 else {
                return ledger.unexpected("restore ended with \(restore?.errors ?? "nothing")")
            }
            ledger.restored(begun: backup.begun, shard: shard, of: count)
            restores.withLock { $0.append(.now) }
            hit(.restore)
        }
    }
}

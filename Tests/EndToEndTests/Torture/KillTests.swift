import Commands
import Foundation
import Store
import Synchronization
import TestSupport
import Testing

extension EndToEndTests {
    /// No acknowledged command is lost, and none that may run once runs twice, whichever process dies at any time, also where
    /// the wall clock is set, `sluice up` is started again, and backups are made and put back. Rate limits and the times of
    /// schedules agree with the true time.
    ///
    /// `SLUICE_KILLS` sets the number of faults (default 60), and `SLUICE_SEED` repeats a schedule of faults.
    /// `deploy/torture` runs the test over many seeds.
    @Suite(
        .enabled(if: runsSlowTests, "slow"),
        .enabled(if: SteppedClock.isAvailable, "libfaketime is not installed"))
    struct KillTests {
        static let faults = ProcessInfo.processInfo.environment["SLUICE_KILLS"].flatMap(Int.init) ?? 60

        @Test func `a seed repeats its schedule of faults, and another seed gives another schedule`() {
            func faults(_ seed: UInt64) -> [FaultSchedule.Fault] {
                var random = SeededRandom(seed: seed)
                return FaultSchedule(count: 100, slots: Torture.slots, using: &random).faults
            }
            #expect(faults(7) == faults(7) && faults(7) != faults(8))
        }

        @Test(.filesOnly("its faults restore backups and set the clock of the store"))
        func `dozens of faults lose no command and run none twice`() async throws {
            var random = SeededRandom.announced("kill test")
            let schedule = FaultSchedule(count: Self.faults, slots: Torture.slots, using: &random)
            let seed = random.seed
            try await Installation.with(inProcess: false) { installation in
                // Make the store before the first process opens it.
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let limit = ["limit", "set", TortureChecker.limit, "--starts", "40/s", "--burst", "10"]
                #expect(try await installation.run(program: "\(Installation.bin)/sluice", limit).code == 0)
                let receiver = try await installation.receiver()
                let ledger = TortureLedger()
                let clock = try await SteppedClock(in: installation)
                let torture = try Torture(installation, receiver: receiver, ledger: ledger, clock: clock, seed: seed)
                try await torture.run(schedule, commandsPerFault: 40)

                let runs = String(decoding: contents(of: torture.runs) ?? [], as: UTF8.self)
                var checker = TortureChecker(
                    store: try installation.files(), ledger: ledger, requests: receiver.requests,
                    runs: runs.split(separator: "\n").map(String.init), clock: clock.settings,
                    restores: torture.restores.withLock { $0 })
                try checker.run()
                let hits = torture.hits.withLock { $0 }
                let faults = FaultSchedule.Name.allCases.map { "\(hits[$0] ?? 0) \($0.rawValue)" }
                print(
                    "kill test: seed \(seed), \(hits.values.reduce(0, +)) faults (\(faults.joined(separator: ", "))), "
                        + "\(ledger.entries.count) acknowledged, \(checker.transitions) transitions, "
                        + "\(receiver.requests.count) requests, \(checker.repeatedMessages) messages repeated, "
                        + "\(checker.fired) times of schedules, \(checker.batches) batches, endings \(checker.endings), "
                        + "charged with deaths \(checker.crashes.sorted { $0.key < $1.key })")
                for violation in checker.violations.prefix(50) { print("violation: \(violation)") }
                #expect(
                    checker.violations.isEmpty, "seed \(seed): \(checker.violations.count) violations, printed above")
                for surprise in ledger.unexpected.prefix(20) { print("surprise: \(surprise)") }
                #expect(ledger.unexpected.isEmpty, "seed \(seed): printed above")
                for name in FaultSchedule.Name.allCases {
                    let planned = schedule.faults.count { $0.name == name }
                    // A stop may find no process.
                    #expect(hits[name] ?? 0 >= (name == .stop ? planned / 2 : planned), "\(name)")
                }
                #expect(ledger.entries.count >= 20 * Self.faults)
                #expect(ledger.entries.values.contains { $0.cancelled > 0 })
                #expect(ledger.entries.values.contains { $0.retried > 0 } || Self.faults < 50)
                #expect(ledger.entries.values.contains { $0.kind == .poison })
                #expect(receiver.requests.contains { $0.method == "POST" })
                #expect(receiver.requests.contains { $0.target.hasPrefix("/put/door-") })
                #expect(checker.repeatedMessages > 0 || Self.faults < 50)
                #expect(checker.batches > 0 || Self.faults < 50)
                #expect(checker.fired > Torture.TortureSchedule.allCases.count)
                #expect(!runs.isEmpty && receiver.requests.contains { $0.method == "GET" })
            }
        }
    }
}

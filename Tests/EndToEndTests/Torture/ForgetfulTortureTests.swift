import BuiltIn
import Commands
import Coordination
import Foundation
import Host
import Logging
import Membership
import ServiceLifecycle
import Store
import TestSupport
import Testing
import Work

extension EndToEndTests {
    /// A coordinator and two workers whose commits are made, and whose outcomes are forgotten: one in five. Their transitions have
    /// numbers with holes.
    @Suite(
        .enabled(if: runsSlowTests, "slow"),
        .filesOnly("the test wraps the store in files, so that commits end unknown"))
    struct ForgetfulTortureTests {
        /// A coordinator and two workers in this process, each with a store of its own.
        private struct Processes {
            let stores: [ForgetfulStore]
            let group: ServiceGroup

            init(of data: DataDirectory, seed: UInt64) throws {
                let stores = try (0..<3).map {
                    ForgetfulStore(
                        try SQLiteStore(directory: data, create: false), seed: seed &+ UInt64($0), scope: .all)
                }
                let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                var configuration = WorkerConfiguration()
                configuration.concurrency = 16
                let services: [any Service] =
                    [CoordinatorService(OpenedStore(stores[0], in: data), logger: logger)]
                    + stores.dropFirst().map {
                        WorkerService(
                            OpenedStore($0, in: data), registry: BuiltInOperations.registry(),
                            configuration: configuration, logger: logger)
                    }
                self.stores = stores
                group = ServiceGroup(services: services, logger: logger)
            }

            var forgotten: [Int] { stores.map(\.forgotten) }
        }

        @Test func `no command is lost and none runs twice for a minute`() async throws {
            var random = SeededRandom.announced("forgetful stores")
            let rounds = TortureRounds()
            try await Installation.with { installation in
                let data = DataDirectory(path: installation.data)
                _ = try SQLiteStore(directory: data, create: true)
                let receiver = try await installation.receiver()
                let processes = try Processes(of: data, seed: random.seed)
                let running = Task { try await processes.group.run() }
                let end = MonotonicTime.now + .seconds(60)
                var number = 0
                while number < 5 || .now < end {
                    try await rounds.submit(number, of: installation, to: receiver.origin, &random)
                    number += 1
                }
                let store = try installation.files()
                try await installation.drained(store, within: .seconds(300))
                await processes.group.triggerGracefulShutdown()
                try await running.value
                var checker = TortureChecker(
                    store: store, ledger: rounds.ledger, requests: receiver.requests, runs: [],
                    clock: [.init(since: Timestamp(milliseconds: 0), offset: .zero)], restores: [])
                try checker.run()
                print(
                    "forgetful stores: \(number) rounds, \(rounds.ledger.entries.count) acknowledged, outcomes forgotten: "
                        + "\(processes.forgotten), endings \(checker.endings)")
                for violation in checker.violations.prefix(20) { print("violation: \(violation)") }
                #expect(checker.violations.isEmpty, "printed above")
                #expect(processes.forgotten.allSatisfy { $0 > 10 })
            }
        }
    }
}

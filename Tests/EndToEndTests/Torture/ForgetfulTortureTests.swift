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

        private let ledger = TortureLedger()

        private func submit(
            _ arguments: [String], _ lines: [String], of installation: Installation,
            _ kind: (Int) -> TortureLedger.Entry.Kind
        ) async throws {
            let finished = try await installation.run(
                program: "\(Installation.bin)/sluice", arguments, input: Array(lines.joined(separator: "\n").utf8))
            #expect(finished.code == 0, "\(finished.errors)")
            for (index, id) in finished.ids.enumerated() { ledger.acknowledged(id, kind(index)) }
        }

        /// Submits commands of each kind, and cancels and retries some.
        private func round(
            _ number: Int, of installation: Installation, to origin: String, _ random: inout SeededRandom
        ) async throws {
            let first = number * 100
            let quality = QualityOfService.allCases[random.number(in: 0..<5)].name
            let source = try installation.directory.file("source-\(number)", random.bytes(number * 97 % 5000))
            let sum = sha256(contents(of: source) ?? [])
            func lines(_ payload: (Int) -> String) -> [String] {
                (0..<12).map { #"{"payload":\#(payload(first + $0)),"qos":"\#(quality)"}"# }
            }
            try await submit(
                ["submit", "upload", "--payload", "-"],
                lines { #"{"file":"\#(source)","to":"\#(origin)/put/\#($0)","method":"PUT"}"# }, of: installation
            ) { .put(path: "/put/\(first + $0)", sha256: sum) }
            try await submit(
                ["submit", "request", "--payload", "-"],
                lines { #"{"url":"\#(origin)/post/\#($0)","method":"POST","body":"request \#($0)"}"# },
                of: installation
            ) { .post(path: "/post/\(first + $0)") }
            try await submit(
                ["submit", "noop", "--payload", "-"],
                (0..<12).map { #"{"payload":{"milliseconds":\#($0 % 5)},"orderingKey":"key \#($0 % 3)"}"# },
                of: installation
            ) { _ in .noop }
            try await submit(
                ["batch", "submit", "noop", "-", "--then-end", #"{"type":"noop"}"#],
                (0..<12).map { #"{"payload":{"milliseconds":\#($0)}}"# }, of: installation
            ) { _ in .batch(members: 12) }
            let nodes = (0..<12).map { node in
                let after = node == 0 ? "" : #""n\#(random.number(in: 0..<node))""#
                return #""n\#(node)":{"type":"noop","payload":{"milliseconds":1},"after":[\#(after)]}"#
            }
            try await submit(
                ["flow", "submit", "-"], [#"{"nodes":{\#(nodes.joined(separator: ","))}}"#], of: installation
            ) { _ in .noop }
            for (action, note) in [("cancel", ledger.willCancel), ("retry", ledger.willRetry)] {
                let order = ledger.order
                let id = order[random.number(in: max(order.count - 40, 0)..<order.count)]
                note(id)
                // It may have ended, or not have been cancelled.
                _ = try await installation.sluice(action, "\(id)")
            }
        }

        @Test func `no command is lost and none runs twice for a minute`() async throws {
            var random = SeededRandom.announced("forgetful stores")
            try await Installation.with { installation in
                let data = DataDirectory(path: installation.data)
                _ = try SQLiteStore(directory: data, create: true)
                let receiver = try await installation.receiver()
                let processes = try Processes(of: data, seed: random.seed)
                let running = Task { try await processes.group.run() }
                let end = MonotonicTime.now + .seconds(60)
                var number = 0
                while number < 5 || .now < end {
                    try await round(number, of: installation, to: receiver.origin, &random)
                    number += 1
                }
                let store = try installation.files()
                try await installation.drained(store, within: .seconds(300))
                await processes.group.triggerGracefulShutdown()
                try await running.value
                var checker = TortureChecker(
                    store: store, ledger: ledger, requests: receiver.requests, runs: [],
                    clock: [.init(since: Timestamp(milliseconds: 0), offset: .zero)], restores: [])
                try checker.run()
                print(
                    "forgetful stores: \(number) rounds, \(ledger.entries.count) acknowledged, outcomes forgotten: "
                        + "\(processes.forgotten), endings \(checker.endings)")
                for violation in checker.violations.prefix(20) { print("violation: \(violation)") }
                #expect(checker.violations.isEmpty, "printed above")
                #expect(processes.forgotten.allSatisfy { $0 > 10 })
            }
        }
    }
}

import Commands
import Store
import TestSupport
import Testing
import Wire

@testable import Operations
@testable import Work

/// A worker whose commits are made, and whose outcomes it does not learn: claims, sends, checkpoints, ends and releases.
@Suite struct UnknownOutcomeTests {
    private struct WentWrong: Error {}

    @Test(arguments: [1, 4])
    func `each command is executed once, and each transition is reported once`(_ shardsPerGroup: Int) async throws {
        let random = SeededRandom.announced("unknown outcomes, \(shardsPerGroup) shards a group")
        let executions = Shared<[CommandID: Int]>([:])
        let run: @Sendable (CommandExecution) async throws -> Void = { execution in
            executions.change { $0[execution.id, default: 0] += 1 }
            try await execution.saveCheckpoint([1])
        }
        let operations = [
            Scripted(
                type: "a",
                body: { execution in
                    try await run(execution)
                    return Array("\"\(execution.id)\"".utf8)
                }),
            Scripted(
                type: "prepared", preparesBeforeSending: true,
                body: { execution in
                    try await run(execution)
                    return nil
                }),
            Scripted(
                type: "failing", preparesBeforeSending: true,
                body: { execution in
                    try await run(execution)
                    throw CommandFailure(.final, reason: "no such thing")
                }),
        ]
        let bench = try Bench(
            operations, concurrency: 8, shardCount: 4, shardsPerGroup: shardsPerGroup, forgets: random.seed,
            forgetRate: shardsPerGroup == 1 ? 0.5 : 0.2)
        let ids = try (0..<60).map { try bench.submit(operations[$0 % 3].type) }
        for (number, operation) in operations.enumerated() {
            bench.offer(ids.indices.filter { $0 % 3 == number }.map { ids[$0] }, operation.type)
        }
        for (number, id) in ids.enumerated() {
            try await bench.reach(number % 3 == 2 ? .tooManyTimes : .success, id)
        }
        await bench.executor.idle()
        await bench.close()
        #expect(bench.forgetful?.forgotten ?? 0 > 0)
        let (_, reports, _) = bench.executor.takeReports()
        let events = Dictionary(grouping: reports.map(\.event.transition), by: \.id)
        for (number, id) in ids.enumerated() {
            let ends: [CommandStatus] = number % 3 == 2 ? [.error, .tooManyTimes] : [.success]
            #expect(try bench.statuses(id) == [.new, .queued, .sent] + ends)
            #expect(executions.value[id] == 1)
            #expect(events[id]?.map(\.status) == [.queued, .sent] + ends)
            #expect(try bench.command(id).claim == 1)
            #expect(try bench.store.result(id) == (number % 3 == 0 ? Array("\"\(id)\"".utf8) : nil))
        }
    }

    @Test func `a release and a cancellation are made once`() async throws {
        let random = SeededRandom.announced("unknown releases")
        let operation = Scripted(
            type: "a",
            body: { _ in
                try await Task.sleep(for: .seconds(3600))
                return nil
            })
        let bench = try Bench([operation], concurrency: 16, shardCount: 4, forgets: random.seed)
        let ids = try (0..<16).map { _ in try bench.submit("a", qos: .utility) }
        bench.offer(ids, "a", qos: .utility)
        for id in ids { try await bench.reach(.sent, id) }
        var control = ControlState()
        for id in ids.prefix(4) {
            _ = try bench.store.cancel(id, reason: "by a test")
            control.cancels.append(CommandClaim(id: id, claim: try bench.command(id).claim))
        }
        // The coordinator repeats its requests: the worker may not know yet that it has the claim.
        for id in ids.prefix(4) {
            try await until("the cancellation") {
                bench.executor.control(control)
                return try bench.command(id).status == .cancelled
            }
        }
        bench.executor.drain()
        await bench.executor.idle()
        await bench.close()
        #expect(bench.forgetful?.forgotten ?? 0 > 0)
        for id in ids.prefix(4) { #expect(try bench.statuses(id).suffix(1) == [.cancelled]) }
        for id in ids.dropFirst(4) {
            let command = try bench.command(id)
            #expect(command.status == .new)
            #expect(try bench.statuses(id).count { $0 == .new } == command.claim + 1)
        }
    }
}

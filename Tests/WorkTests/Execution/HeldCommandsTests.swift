import Commands
import Host
import Store
import Testing
import Wire

@testable import Operations
@testable import Work

/// The life cycle of a command in a worker, step by step.
@Suite struct HeldCommandsTests {
    private static let id = CommandID(high: 1, low: 1)
    private static let plain = Scripted(type: "a")
    private static let prepares = Scripted(type: "a", preparesBeforeSending: true)

    private func offer(_ id: CommandID = id, _ qos: QualityOfService = .default, suspect: Bool = false) -> Offers.Offer
    {
        Offers.Offer(id: id, type: "a", qos: qos, suspect: suspect, group: 1, order: 1)
    }

    private func execution(_ id: CommandID = id, claim: Int = 1, to destination: Destination = .none)
        -> CommandExecution
    {
        var command = Command(id: id, type: "a", destination: destination, createdAt: .zero)
        command.idempotent = true
        command.claim = claim
        return CommandExecution(command: command, payload: [], meter: TransferMeter())
    }

    /// Brings an execution to the state before its task exists.
    private func claim(_ execution: CommandExecution, _ operation: Scripted = plain, in held: inout HeldCommands) {
        held.claim(offer(execution.id), now: .zero)
        _ = held.claimed(execution, operation, now: .zero)
    }

    /// Brings an execution to `preparing` or `executing`, whichever its operation begins with.
    private func start(_ execution: CommandExecution, _ operation: Scripted = plain, in held: inout HeldCommands) throws
    {
        claim(execution, operation, in: &held)
        let start = try #require(value(held.startFirst(.others)))
        held.started(start, task: Task {}, logEntry: 7)
    }

    private func isCancel(_ action: HeldCommands.StopAction?) -> Bool {
        if case .cancel? = action { true } else { false }
    }

    private func write(_ action: HeldCommands.StopAction?) -> ExecutionWrite? {
        if case .write(let write)? = action { write } else { nil }
    }

    private static let drained = ExecutionResult.released(
        reason: "released by a worker that was asked to stop", ambiguous: false)

    @Test func `a command goes from its claim to the commit of its end`() throws {
        var held = HeldCommands()
        let execution = execution()
        held.claim(offer(), now: .zero)
        #expect(held.counts.held.others == 1 && held.counts.executing.all == 0)
        let duration = held.claimed(execution, Self.plain, now: .zero + .milliseconds(3))
        #expect(duration == .milliseconds(3))
        #expect(Array(held.queues.others) == [Self.id])
        let start = try #require(value(held.startFirst(.others)))
        #expect(start.execution === execution && held.counts.executing.others == 1)
        held.started(start, task: Task {}, logEntry: 7)
        let ended = held.ended(execution, .success([1]), lastSuccess: nil)
        #expect(ended?.result == .success(result: [1]) && ended?.logEntry == 7)
        #expect(held.counts.ending == 1 && held.counts.held.others == 0)
        let gone = try #require(value(held.endCommitted(Self.id, claim: 1)))
        #expect(gone.execution === execution && gone.run?.logEntry == 7)
        #expect(held.count == 0 && held.completed == 1 && held.resolved == 1)
        #expect(held.counts == SlotUsage())
    }

    @Test func `a copy of an execution with another payload is the same execution`() throws {
        var held = HeldCommands()
        let execution = execution()
        try start(execution, in: &held)
        let copy = CommandExecution(execution, payload: Array("{}".utf8))
        let othersRun = held.connectionReset(copy, now: .zero)
        #expect(!othersRun, "it is not beside itself")
        let ended = held.ended(copy, .success([1]), lastSuccess: nil)
        #expect(ended?.result == .success(result: [1]) && ended?.logEntry == 7)
        // One of an earlier claim is another execution.
        try start(self.execution(CommandID(high: 2, low: 2), claim: 3), in: &held)
        let late = held.ended(self.execution(CommandID(high: 2, low: 2), claim: 2), .success(nil), lastSuccess: nil)
        #expect(late == nil)
    }

    /// As the slot of a program, which its preparation takes for the copy.
    @Test func `an object that a copy of an execution holds stays as long as the execution`() {
        final class Slot: Sendable {}
        let execution = execution()
        weak var slot: Slot?
        do {
            let taken = Slot()
            slot = taken
            CommandExecution(execution, payload: []).hold(taken)
        }
        #expect(slot != nil)
        withExtendedLifetime(execution) {}
    }

    @Test func `a command that is held back says nothing about its destination`() throws {
        let destination = Destination(scheme: "https", host: "a", port: 443)
        for isHeldBack in [true, false] {
            var held = HeldCommands()
            let execution = execution(to: destination)
            try start(execution, in: &held)
            let failure =
                isHeldBack
                ? CommandFailure.heldBack(reason: "paused", for: .seconds(60))
                : CommandFailure(.link, reason: "refused", retryAfter: .seconds(60))
            let ended = held.ended(execution, .failure(failure), lastSuccess: nil)
            #expect(ended?.result == .failure(failure))
            let gone = try #require(value(held.endCommitted(Self.id, claim: 1)))
            #expect((gone.failure == nil) == isHeldBack)
        }
    }

    @Test func `a drain is told from other releases`() throws {
        for (reason, isDrain) in [(.drained, true), (.preempted, false)] as [(StopReason, Bool)] {
            var held = HeldCommands()
            let execution = execution()
            try start(execution, in: &held)
            #expect(isCancel(held.stop(Self.id, reason)))
            #expect(execution.isReleased && execution.isDrained == isDrain)
        }
    }

    @Test func `a stop while the claim waits for its commit changes nothing`() {
        var held = HeldCommands()
        held.claim(offer(), now: .zero)
        #expect(held.stop(Self.id, .cancelled) == nil)
        #expect(held.stop(Self.id, .drained) == nil)
        held.refused(Self.id)
        #expect(held.count == 0 && held.counts == SlotUsage() && held.completed == 0)
    }

    @Test func `a stop before the start ends a command without a task`() {
        var held = HeldCommands()
        claim(execution(), in: &held)
        #expect(write(held.stop(Self.id, .drained)) == .end(Self.id, claim: 1, Self.drained))
        #expect(held.queues.others.isEmpty && held.counts.ending == 1)
        #expect(held.stop(Self.id, .cancelled) == nil, "it is ending")
        #expect(held.endCommitted(Self.id, claim: 1)?.run == nil)
        #expect(held.counts == SlotUsage())
    }

    @Test func `a command without an operation is given back`() {
        var held = HeldCommands()
        held.claim(offer(), now: .zero)
        let write = held.claimedWithoutOperation(Self.id, claim: 4)
        #expect(write == .end(Self.id, claim: 4, .released(reason: "no operation here", ambiguous: false)))
        #expect(held.counts.ending == 1 && held.stop(Self.id, .drained) == nil)
        #expect(held.endCommitted(Self.id, claim: 4) == nil)
        #expect(held.count == 0 && held.counts == SlotUsage())
    }

    @Test func `a stop in each running state cancels the task, and only the first counts`() async throws {
        var preparing = HeldCommands()
        try start(execution(), Self.prepares, in: &preparing)
        #expect(isCancel(preparing.stop(Self.id, .drained)))
        #expect(preparing.stop(Self.id, .cancelled) == nil)

        let execution = execution()
        var executing = HeldCommands()
        try start(execution, in: &executing)
        #expect(executing.stop(Self.id, claim: 2, .cancelled) == nil, "another claim is meant")
        #expect(isCancel(executing.stop(Self.id, claim: 1, .drained)))
        let ended = executing.ended(execution, .failure(CancellationError()), lastSuccess: nil)
        #expect(
            ended?.result
                == .released(reason: "released by a worker that was asked to stop", ambiguous: true))

        var reset = HeldCommands()
        try start(execution, in: &reset)
        #expect(!value(reset.connectionReset(execution, now: .zero)))
        #expect(isCancel(reset.stop(Self.id, .drained)))
    }

    @Test func `a cancellation while sent waits for its commit stops the operation afterwards`() async throws {
        for isCommitted in [true, false] {
            let execution = execution()
            var held = HeldCommands()
            try start(execution, Self.prepares, in: &held)
            let mayGoOn = await withCheckedContinuation { continuation in
                #expect(value(held.commitSent(execution, continuation)))
                #expect(isCancel(held.stop(Self.id, claim: 1, .cancelled)))
                if isCommitted {
                    held.sentCommitted(Self.id, claim: 1)?.continuation.resume(returning: true)
                } else {
                    held.sentRefused(Self.id, claim: 1)?.resume(returning: false)
                }
            }
            #expect(mayGoOn == isCommitted)
            let ended = held.ended(execution, .failure(CancellationError()), lastSuccess: nil)
            #expect(ended?.result == .cancelled(reason: "cancelled"))
            #expect(held.endCommitted(Self.id, claim: 1) != nil)
        }
    }

    @Test func `a refusal of sent cancels an execution that was not stopped`() async throws {
        let execution = execution()
        var held = HeldCommands()
        try start(execution, Self.prepares, in: &held)
        _ = await withCheckedContinuation { continuation in
            _ = held.commitSent(execution, continuation)
            held.sentRefused(Self.id, claim: 1)?.resume(returning: false)
        }
        let ended = held.ended(execution, .failure(CancellationError()), lastSuccess: nil)
        #expect(ended?.result == .cancelled(reason: "cancelled"))
    }

    @Test func `an end after the loss of the fence is not written`() throws {
        let execution = execution()
        var held = HeldCommands()
        try start(execution, in: &held)
        let gone = try #require(value(held.lost(Self.id, claim: 1)))
        #expect(gone.run?.logEntry == 7 && gone.sent == nil)
        #expect(held.count == 0 && held.counts == SlotUsage())
        #expect(held.ended(execution, .success(nil), lastSuccess: nil) == nil)
        #expect(held.endCommitted(Self.id, claim: 1) == nil)
    }

    @Test func `the loss of the fence hands back what waits for sent`() async throws {
        let execution = execution()
        var held = HeldCommands()
        try start(execution, Self.prepares, in: &held)
        let mayGoOn = await withCheckedContinuation { continuation in
            _ = held.commitSent(execution, continuation)
            held.lost(Self.id, claim: 1)?.sent?.resume(returning: false)
        }
        #expect(!mayGoOn)
        #expect(held.sentCommitted(Self.id, claim: 1) == nil && held.sentRefused(Self.id, claim: 1) == nil)
    }

    @Test func `late outcomes of an earlier claim do not touch the next execution`() throws {
        let (first, second) = (execution(claim: 1), execution(claim: 2))
        var held = HeldCommands()
        try start(first, in: &held)
        _ = held.lost(Self.id, claim: 1)
        try start(second, in: &held)
        #expect(held.lost(Self.id, claim: 1) == nil)
        #expect(held.sentCommitted(Self.id, claim: 1) == nil)
        #expect(held.checkpointSaved(Self.id, claim: 1) == nil)
        #expect(held.endCommitted(Self.id, claim: 1) == nil)
        #expect(held.ended(first, .success(nil), lastSuccess: nil) == nil)
        #expect(held.ended(second, .success(nil), lastSuccess: nil) != nil)
    }

    @Test func `checkpoints are confirmed in order, and none is taken after the end`() async throws {
        let execution = execution()
        let command = CommandClaim(id: Self.id, claim: 1)
        var held = HeldCommands()
        try start(execution, in: &held)
        let isSaved = await withCheckedContinuation { continuation in
            #expect(value(held.saveCheckpoint(command, continuation)))
            _ = held.ended(execution, .success(nil), lastSuccess: nil)
            held.checkpointSaved(Self.id, claim: 1)?.resume(returning: true)
        }
        #expect(isSaved)
        let isTaken = await withCheckedContinuation { continuation in
            continuation.resume(returning: held.saveCheckpoint(command, continuation))
        }
        #expect(!isTaken)
    }

    @Test func `a reset is the command's fault where another execution at its destination goes on`() throws {
        let host = Destination(scheme: "http", host: "h", port: 80)
        let reset = Result<[UInt8]?, any Error>.failure(CommandFailure(.reset, reason: "reset"))
        func fault(_ change: (inout HeldCommands, CommandExecution) throws -> Void) throws -> CommandFailure.Fault? {
            var held = HeldCommands()
            let (own, other) = (execution(to: host), execution(CommandID(high: 1, low: 2), to: host))
            try start(own, in: &held)
            try start(other, in: &held)
            #expect(value(held.connectionReset(own, now: .zero)))
            try change(&held, other)
            guard case .failure(let failure)? = held.ended(own, reset, lastSuccess: nil)?.result else { return nil }
            return failure.fault
        }
        #expect(try fault { _, _ in } == .command)
        #expect(try fault { held, other in _ = held.connectionReset(other, now: .zero) } == .link)
        #expect(try fault { held, other in _ = held.stop(other.id, .preempted) } == .link)
        #expect(try fault { held, other in _ = held.lost(other.id, claim: 1) } == .link)
    }

    @Test(arguments: 0..<20) func `counts follow the states in every sequence of steps`(seed: Int) throws {
        var random = SplitMix(state: UInt64(seed))
        var held = HeldCommands()
        var known: [CommandID: CommandExecution] = [:]
        for number in 1...2000 {
            let id = CommandID(high: 1, low: random.next() % 8)
            switch random.next() % 8 {
            case 0, 1:
                guard !held.contains(id) else { continue }
                held.claim(offer(id, random.next() % 2 == 0 ? .default : .userInitiated), now: .zero)
                if random.next() % 4 == 0 {
                    held.refused(id)
                } else {
                    let execution = execution(id, claim: number)
                    known[id] = execution
                    _ = held.claimed(execution, Self.plain, now: .zero)
                }
            case 2, 3:
                for queue in [ClaimedQueues.Queue.high, .others] {
                    if let start = held.startFirst(queue) { held.started(start, task: Task {}, logEntry: nil) }
                }
            case 4:
                if write(held.stop(id, .drained)) != nil, let execution = known.removeValue(forKey: id) {
                    _ = held.endCommitted(id, claim: execution.claim)
                }
            case 5:
                if let execution = known[id] { _ = held.lost(id, claim: execution.claim) }
            default:
                guard let execution = known[id], held.claimedSince(id) == nil else { continue }
                known[id] = nil
                _ = held.ended(execution, .success(nil), lastSuccess: nil)
                _ = held.endCommitted(id, claim: execution.claim)
            }
            #expect(held.counts.held.all + held.counts.ending == held.count)
            #expect(held.counts.executing.all <= held.counts.held.all)
            #expect(
                held.queues.high.count + held.queues.others.count == held.counts.held.all - held.counts.executing.all)
        }
    }
}

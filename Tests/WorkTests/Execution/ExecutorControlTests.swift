import Commands
import TestSupport
import Testing
import Wire

@testable import Operations
@testable import Work

/// The effects of the control state on executions.
@Suite struct ExecutorControlTests {
    private static let host = Destination(scheme: "http", host: "a", port: 80)

    /// Yields each pace that its execution gets, and ends when it is stopped.
    private func listener(_ paces: AsyncStream<Int64?>.Continuation) -> Scripted {
        Scripted(
            type: "a",
            body: { execution in
                execution.pace.whenChanged { [pace = execution.pace] in paces.yield(pace.bytesPerSecond) }
                paces.yield(execution.pace.bytesPerSecond)
                try await Task.sleep(for: .seconds(60))
                return nil
            })
    }

    private func control(_ bytesPerSecond: Int64?) -> ControlState {
        var control = ControlState()
        if let bytesPerSecond {
            control.paces = [
                .init(
                    group: Offers.group(of: Self.host), direction: .up, qos: .background, bytesPerSecond: bytesPerSecond
                )
            ]
        }
        return control
    }

    @Test func `a pace reaches running and new executions, and is lifted`() async throws {
        let (stream, continuation) = AsyncStream<Int64?>.makeStream()
        let bench = try Bench([listener(continuation)])
        var paces = stream.makeAsyncIterator()
        bench.executor.control(control(25_000))
        let id = try bench.submit("a", to: Self.host, qos: .background)
        bench.offer(id, "a", qos: .background)
        #expect(await paces.next() == 25_000)
        bench.executor.control(control(0))
        #expect(await paces.next() == 0)
        bench.executor.control(control(nil))
        #expect(await paces.next() == .some(nil))
        bench.executor.stopAll()
        await bench.executor.idle()
        await bench.close()
    }

    /// The first states of a new coordinator know nothing of the transfers of this worker.
    @Test func `a new coordinator lifts no pace before it has decided on the running transfers`() async throws {
        let (stream, continuation) = AsyncStream<Int64?>.makeStream()
        let bench = try Bench([listener(continuation)])
        var paces = stream.makeAsyncIterator()
        bench.executor.control(control(25_000))
        let id = try bench.submit("a", to: Self.host, qos: .background)
        bench.offer(id, "a", qos: .background)
        #expect(await paces.next() == 25_000)
        bench.executor.adopt(coordinator: 2)
        bench.executor.control(control(nil), isHandover: true)
        bench.executor.control(control(100_000), isHandover: true)
        bench.executor.control(control(20_000), isHandover: true)
        #expect(await paces.next() == 20_000, "a lower one holds at once")
        // The third dies before it has decided: the lowest of all three holds.
        bench.executor.adopt(coordinator: 3)
        bench.executor.control(control(100_000), isHandover: true)
        bench.executor.control(control(90_000))
        #expect(await paces.next() == 90_000)
        bench.executor.stopAll()
        await bench.executor.idle()
        await bench.close()
    }

    @Test func `a download counts for direction down of its link, and obeys that pace`() async throws {
        let (stream, continuation) = AsyncStream<Int64?>.makeStream()
        let downloads = Scripted(
            type: "a",
            body: { execution in
                execution.received(1000)
                execution.pace.whenChanged { [pace = execution.pace] in continuation.yield(pace.bytesPerSecond) }
                continuation.yield(execution.pace.bytesPerSecond)
                try await Task.sleep(for: .seconds(60))
                return nil
            })
        let bench = try Bench([downloads])
        var paces = stream.makeAsyncIterator()
        let id = try bench.submit("a", to: Self.host, qos: .background)
        bench.offer(id, "a", qos: .background)
        #expect(await paces.next() == .some(nil))
        let moved = await withCheckedContinuation { continuation in
            bench.executor.takeTransfers(elapsed: .seconds(1)) { continuation.resume(returning: $0) }
        }
        #expect(moved.links.map(\.direction) == [.down] && moved.links.map(\.allBytes) == [1000])
        #expect(moved.transfers.map(\.acknowledged) == [1000])
        var control = control(25_000)
        control.paces.append(
            .init(
                group: Offers.group(of: Self.host), direction: .down, qos: .background, bytesPerSecond: 7000))
        bench.executor.control(control)
        #expect(await paces.next() == 7000)
        bench.executor.stopAll()
        await bench.executor.idle()
        await bench.close()
    }

    @Test func `low quality goes on at a safe rate while the coordinator is silent`() async throws {
        let (stream, continuation) = AsyncStream<Int64?>.makeStream()
        let bench = try Bench([listener(continuation)])
        var paces = stream.makeAsyncIterator()
        let id = try bench.submit("a", to: Self.host, qos: .background)
        bench.offer(id, "a", qos: .background)
        #expect(await paces.next() == .some(nil))
        bench.executor.coordinatorIsSilent()
        #expect(await paces.next() == PaceTable.safeRate)
        bench.executor.control(control(nil))
        #expect(await paces.next() == .some(nil))
        bench.executor.stopAll()
        await bench.executor.idle()
        await bench.close()
    }

    @Test func `an offer is not claimed while the coordinator is silent, and is claimed afterwards`()
        async throws
    {
        let (gate, opening) = AsyncStream<Void>.makeStream()
        let waits = Scripted(
            type: "a",
            body: { _ in
                for await _ in gate {}
                return nil
            })
        let bench = try Bench([waits], concurrency: 1)
        let (running, waiting) = (try bench.submit("a"), try bench.submit("a"))
        bench.offer(running, "a")
        try await bench.reach(.sent, running)
        bench.offer(waiting, "a")
        bench.executor.coordinatorIsSilent()
        opening.finish()
        try await bench.reach(.success, running)
        try await until("a free slot") { bench.executor.workerState.free == 1 }
        #expect(try bench.command(waiting).claim == 0)
        bench.executor.control(control(nil))
        bench.offer(waiting, "a")
        try await bench.reach(.success, waiting)
        await bench.close()
    }

    @Test(arguments: [ControlState.Stop.Verb.release, .cancel])
    func `a stop ends the execution that it names, and no later one`(_ verb: ControlState.Stop.Verb) async throws {
        let (stream, continuation) = AsyncStream<Int64?>.makeStream()
        let bench = try Bench([listener(continuation)])
        var paces = stream.makeAsyncIterator()
        let id = try bench.submit("a", to: Self.host, qos: .background)
        bench.offer(id, "a", qos: .background)
        _ = await paces.next()
        var control = ControlState()
        control.stops = [.init(verb, .init(id: id, claim: 2), reason: "the link is poor")]
        bench.executor.control(control)
        // Changes are made in order: if the stop had ended the execution, it would not get this pace.
        bench.executor.control(self.control(9))
        #expect(await paces.next() == 9)
        control.stops = [.init(verb, .init(id: id, claim: 1), reason: "the link is poor")]
        bench.executor.control(control)
        try await bench.reach(verb == .release ? .new : .cancelled, id)
        let command = try bench.command(id)
        #expect(command.retries == 0)
        #expect(command.reason?.hasPrefix("the link is poor") == true, "\(command.reason ?? "")")
        await bench.executor.idle()
        await bench.close()
    }
}

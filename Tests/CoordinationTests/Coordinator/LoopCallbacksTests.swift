import Host
import Testing
import ZeroMQ

@testable import Coordination

@Suite struct LoopCallbacksTests {
    /// Not `Sendable`: only its owner's loop may touch it.
    private final class Confined {
        var values: [Int] = []
    }

    private actor Owner: LoopCallbackOwner {
        nonisolated let loop: PollLoop
        let callbacks: LoopCallbacks
        private let confined = Confined()
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(loop: PollLoop) {
            self.loop = loop
            callbacks = LoopCallbacks(loop: loop)
        }

        func once(_ whenCalled: @escaping @Sendable ([Int]) -> Void) -> @Sendable (Int) -> Void {
            callbacks.owner = self
            return callbacks.once { [confined] (value: Int) in
                confined.values.append(value)
                whenCalled(confined.values)
            }
        }

        /// - Returns: a function for each step, and one for the end, which drops the first.
        func steps(
            _ whenEnded: @escaping @Sendable ([Int]) -> Void
        ) -> (step: @Sendable (Int) -> Void, end: @Sendable (Bool) -> Void) {
            callbacks.owner = self
            let steps = callbacks.repeatedly { [confined] (value: Int) in confined.values.append(value) }
            let end = callbacks.once { [confined] (_: Bool) in
                steps.end()
                whenEnded(confined.values)
            }
            return (steps.call, end)
        }

        var values: [Int] { confined.values }
    }

    @Test func `a callback from another thread runs on the loop with the value`() async throws {
        let loop = try PollLoop(name: "callbacks")
        defer { loop.stop() }
        let owner = await loop.run { Owner(loop: loop) }
        let values = await withCheckedContinuation { continuation in
            Task {
                let call = await owner.once { values in
                    loop.checkIsolated()
                    continuation.resume(returning: values)
                }
                startThread(named: "caller") { call(7) }
            }
        }
        #expect(values == [7])
    }

    @Test func `steps arrive in order and none after the end`() async throws {
        let loop = try PollLoop(name: "callbacks")
        defer { loop.stop() }
        let owner = await loop.run { Owner(loop: loop) }
        let values = await withCheckedContinuation { continuation in
            Task {
                let steps = await owner.steps { continuation.resume(returning: $0) }
                startThread(named: "caller") {
                    for number in 1...3 { steps.step(number) }
                    steps.end(true)
                    steps.step(4)
                }
            }
        }
        #expect(values == [1, 2, 3])
        // Behind the fourth step.
        await loop.run {}
        #expect(await owner.values == [1, 2, 3])
    }
}

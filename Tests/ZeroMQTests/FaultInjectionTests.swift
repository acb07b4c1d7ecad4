import Glibc
import Testing

@testable import ZeroMQ

@Suite struct FaultInjectionTests {
    @Test func `messages are dropped by the probability, and the sender sees all as sent`() async throws {
        let count = 20_000
        for (probability, expected) in [(0.25, 14_600...15_400), (0.0, 20_000...20_000), (1.0, 0...0)] {
            let context = try Context(faults: FaultInjection(probability: probability, seed: 7))
            let loop = try PollLoop(name: "drops")
            var options = Socket.Options()
            options.sendHighWaterMark = 0
            let pull = try await Peer.make(.pull, context, on: loop, bind: .inproc("drops"))
            let push = try await Peer.make(.push, context, on: loop, options: options, connect: .inproc("drops"))
            #expect(try await push.sendAll(count, [1]) == count)
            #expect(expected.contains(try await pull.receiveAll()), "probability \(probability)")
            loop.stop()
            await loop.stopped()
        }
    }

    @Test func `a seed decides which messages of a socket are lost`() {
        let faults = FaultInjection(probability: 0.5, seed: 42)
        var first = faults.dice(ordinal: 1)
        var again = faults.dice(ordinal: 1)
        var second = faults.dice(ordinal: 2)
        let throwsOfFirst = (0..<256).map { _ in first.drops() }
        #expect(throwsOfFirst == (0..<256).map { _ in again.drops() })
        #expect(throwsOfFirst != (0..<256).map { _ in second.drops() })
    }

    @Test func `the environment is read once, when the context is made`() async throws {
        await #expect(processExitsWith: .success) {
            setenv(FaultInjection.variable, "1:1", 1)
            let lossy = try Context()
            unsetenv(FaultInjection.variable)
            let loop = try PollLoop(name: "drops")
            let pull = try await Peer.make(.pull, lossy, on: loop, bind: .inproc("drops"))
            let push = try await Peer.make(.push, lossy, on: loop, connect: .inproc("drops"))
            #expect(try await push.send([1]))
            #expect(try await pull.receive() == nil)
        }
    }

    @Test(arguments: ["", "0.1", "2:1", "-1:1", "nan:1", "0.1:", "0.1:x", "x:1"])
    func `a value that cannot be read is an error that shows an example`(_ text: String) {
        let error = #expect(throws: ZeroMQError.self) { try FaultInjection(parsing: text) }
        #expect(error?.description.contains("0.05:42") == true)
    }
}

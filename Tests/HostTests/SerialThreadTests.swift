import Synchronization
import TestSupport
import Testing

@testable import Host

@Suite struct SerialThreadTests {
    private struct Rig {
        let thread = SerialThread(named: "test")
        let order = Shared<[String]>([])

        /// Holds the thread until ``gate`` is opened; returns when it does.
        func hold() async -> MonotonicSemaphore {
            let gate = MonotonicSemaphore(value: 0)
            await withCheckedContinuation { continuation in
                thread.perform {
                    continuation.resume()
                    gate.wait()
                }
            }
            return gate
        }

        func note(_ name: String) -> SerialThread.Body { { order.change { $0.append(name) } } }
    }

    @Test func `an urgent body runs before those that wait, and after the one that runs`() async {
        let rig = Rig()
        let gate = await rig.hold()
        for name in ["waiting", "second"] { rig.thread.perform(rig.note(name)) }
        for name in ["urgent", "second urgent"] { rig.thread.perform(isUrgent: true, rig.note(name)) }
        gate.signal()
        await rig.thread.close()
        #expect(rig.order.value == ["urgent", "second urgent", "waiting", "second"])
    }

    @Test func `the result and the error of a body reach its caller`() async throws {
        let rig = Rig()
        #expect(await rig.thread.run { () throws(Never) in 7 } == 7)
        await #expect(throws: SystemError.self) {
            try await rig.thread.run { () throws(SystemError) -> Int in throw SystemError(5, attempt: "test") }
        }
        await rig.thread.close()
    }

    @Test func `bodies for a time run in the order of their times, and not before`() async {
        let rig = Rig()
        let start = MonotonicTime.now
        let lateness = Shared<[Duration]>([])
        await withCheckedContinuation { continuation in
            // The thread waits for the latest when the earlier ones come.
            for (name, delay) in [("third", 60), ("second", 40), ("first", 20)] {
                let time = start + .milliseconds(delay)
                rig.thread.perform(at: time) {
                    lateness.change { $0.append(.now - time) }
                    rig.note(name)()
                    if name == "third" { continuation.resume() }
                }
            }
        }
        #expect(rig.order.value == ["first", "second", "third"])
        #expect(lateness.value.allSatisfy { $0 >= .zero })
        await rig.thread.close()
    }

    @Test func `bodies for one time run in the order of their calls, behind those of that moment`() async {
        let rig = Rig()
        let gate = await rig.hold()
        let time = MonotonicTime.now
        for number in 1...3 { rig.thread.perform(at: time, rig.note("timed \(number)")) }
        rig.thread.perform(rig.note("at once"))
        gate.signal()
        while rig.order.value.count < 4 { await rig.thread.run {} }
        #expect(rig.order.value == ["at once", "timed 1", "timed 2", "timed 3"])
        await rig.thread.close()
    }

    @Test func `a body that schedules itself is a loop that a close ends`() async {
        let rig = Rig()
        let rounds = Shared(0)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            @Sendable func round() {
                rounds.change { $0 += 1 }
                if rounds.value == 3 { continuation.resume() }
                rig.thread.perform(at: .now, round)
            }
            rig.thread.perform(round)
        }
        await rig.thread.close()
        let last = rounds.value
        await rig.thread.run {}
        #expect(last >= 3 && rounds.value == last)
    }

    @Test func `a close runs its body behind those handed in, and drops those whose time has not come`() async {
        let rig = Rig()
        let gate = await rig.hold()
        rig.thread.perform(at: .now + .seconds(3600), rig.note("in an hour"))
        rig.thread.perform(rig.note("before"))
        rig.thread.close(then: rig.note("close"))
        rig.thread.close(then: rig.note("second close"))
        gate.signal()
        await rig.thread.close()
        #expect(rig.order.value == ["before", "close", "second close"])
    }

    @Test func `a body that comes after the close still runs, and one for a time does not`() async {
        let rig = Rig()
        await rig.thread.close()
        rig.thread.perform(at: .now, rig.note("timed"))
        rig.thread.perform(rig.note("late"))
        await rig.thread.close()
        #expect(rig.order.value == ["late"])
    }

    @Test func `a dropped body may use the thread at its end`() async {
        final class Owner: Sendable {
            let thread: SerialThread
            let ended: SerialThread.Body

            init(_ thread: SerialThread, _ ended: @escaping SerialThread.Body) {
                self.thread = thread
                self.ended = ended
            }

            deinit { thread.perform(ended) }
        }
        let rig = Rig()
        do {
            let owner = Owner(rig.thread, rig.note("owner"))
            rig.thread.perform(at: .distantFuture) { _ = owner }
        }
        await rig.thread.close()
        await rig.thread.close()
        #expect(rig.order.value == ["owner"])
    }
}

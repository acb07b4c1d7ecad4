import Host
import Testing

@testable import Supervision

@Suite struct RestartPolicyTests {
    let policy = RestartPolicy()

    private func time(_ seconds: Double) -> MonotonicTime { .zero + .seconds(seconds) }

    @Test func `the delay doubles from a tenth of a second to five seconds`() {
        var history = RestartPolicy.History()
        var delays: [RestartPolicy.Verdict] = []
        // Far enough apart that no window has five of them.
        for death in 0..<9 {
            delays.append(
                policy.verdict(at: time(3 * Double(death)), lived: .seconds(2), history: &history))
        }
        let expected: [Duration] =
            [.milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800)]
            + [.milliseconds(1600), .milliseconds(3200), .seconds(5), .seconds(5), .seconds(5)]
        #expect(delays == expected.map { .restart(after: $0) })
    }

    @Test func `a child that lived for ten seconds starts with the first delay again`() {
        var history = RestartPolicy.History()
        for death in 0..<3 { _ = policy.verdict(at: time(Double(death) / 1e9), lived: .zero, history: &history) }
        #expect(
            policy.verdict(at: time(20), lived: .seconds(10), history: &history)
                == .restart(after: .milliseconds(100)))
        #expect(
            policy.verdict(at: time(21), lived: .seconds(9.9), history: &history)
                == .restart(after: .milliseconds(200)))
    }

    @Test func `the fifth death within ten seconds is the last`() {
        var history = RestartPolicy.History()
        for death in 0..<4 {
            #expect(policy.verdict(at: time(2 * Double(death)), lived: .zero, history: &history) != .giveUp)
        }
        #expect(policy.verdict(at: time(10) - .nanoseconds(1), lived: .zero, history: &history) == .giveUp)
    }

    @Test func `a child that a passing condition ends is tried again every five seconds without limit`() {
        var history = RestartPolicy.History()
        for death in 0..<1000 {
            #expect(
                policy.verdict(at: time(Double(death) / 1e3), lived: .zero, cause: .passing, history: &history)
                    == .restart(after: .seconds(5)))
        }
        #expect(
            policy.verdict(at: time(2), lived: .zero, history: &history) == .restart(after: .milliseconds(100)),
            "the first failure of another kind")
    }

    @Test func `deaths older than the window do not count`() {
        var history = RestartPolicy.History()
        for death in 0..<4 { _ = policy.verdict(at: time(2 * Double(death)), lived: .zero, history: &history) }
        #expect(policy.verdict(at: time(10), lived: .zero, history: &history) != .giveUp)
        #expect(history.deaths.count == 4)
    }
}

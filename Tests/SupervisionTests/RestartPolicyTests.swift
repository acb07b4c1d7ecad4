import Testing

@testable import Supervision

@Suite struct RestartPolicyTests {
    let policy = RestartPolicy()
    private let second: Int64 = 1_000_000_000

    @Test func `the delay doubles from a tenth of a second to five seconds`() {
        var history = RestartPolicy.History()
        var delays: [RestartPolicy.Verdict] = []
        // Far enough apart that they are never five in a window.
        for death in 0..<9 {
            delays.append(
                policy.verdict(at: Int64(death) * 3 * second, lived: .seconds(2), history: &history))
        }
        let expected: [Duration] =
            [.milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800)]
            + [.milliseconds(1600), .milliseconds(3200), .seconds(5), .seconds(5), .seconds(5)]
        #expect(delays == expected.map { .restart(after: $0) })
    }

    @Test func `a child that was healthy for ten seconds begins anew`() {
        var history = RestartPolicy.History()
        for death in 0..<3 { _ = policy.verdict(at: Int64(death), lived: .zero, history: &history) }
        #expect(
            policy.verdict(at: 20 * second, lived: .seconds(10), history: &history)
                == .restart(after: .milliseconds(100)))
        #expect(
            policy.verdict(at: 21 * second, lived: .seconds(9.9), history: &history)
                == .restart(after: .milliseconds(200)))
    }

    @Test func `the fifth death within ten seconds is the last`() {
        var history = RestartPolicy.History()
        for death in 0..<4 {
            #expect(policy.verdict(at: Int64(death) * 2 * second, lived: .zero, history: &history) != .giveUp)
        }
        #expect(policy.verdict(at: 10 * second - 1, lived: .zero, history: &history) == .giveUp)
    }

    @Test func `deaths older than the window do not count`() {
        var history = RestartPolicy.History()
        for death in 0..<4 { _ = policy.verdict(at: Int64(death) * 2 * second, lived: .zero, history: &history) }
        #expect(policy.verdict(at: 10 * second, lived: .zero, history: &history) != .giveUp)
        #expect(history.deaths.count == 4)
    }
}

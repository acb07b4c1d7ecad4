import Commands
import Store
import Testing

@testable import Queue

/// Hints about commands that a retry or a cancellation of another one has changed.
@Suite struct EffectHintTests {
    private static func command(_ number: UInt64) -> Command {
        Command(id: CommandID(high: 1, low: number), type: "noop", destination: .none, createdAt: .now)
    }

    private static func event(_ number: UInt64) -> StatusEvent {
        StatusEvent(
            transition: Transition(
                seq: 1, id: command(number).id, status: .new, at: .now, claim: 0, reason: nil), type: "noop",
            qos: .default, destination: .none, retries: 0, shard: 0)
    }

    @Test func `the coordinator hears of what was changed, and of running commands that are to stop`() {
        var effects = Effects()
        effects.events = (1...3).map(Self.event)
        effects.requests = [2, 7].map { ClaimedCommand(Self.command($0), epoch: 1) }
        let (changed, requested) = effects.hints(without: Self.command(2).id)
        #expect(changed == [1, 3].map { Self.command($0).id } && requested == [Self.command(7).id])
        #expect(effects.hints(without: nil).requested.count == 2)
    }

    @Test func `the hints about many changes are bounded`() {
        var effects = Effects()
        effects.events = (0..<10_000).map(Self.event)
        #expect(effects.hints(without: nil).changed.count == 256)
    }
}

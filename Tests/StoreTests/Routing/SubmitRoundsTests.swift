import TestSupport
import Testing

@testable import Store

@Suite struct SubmitRoundsTests {
    private let free = [SubmitRounds.Shard](repeating: .init(), count: 4)

    @Test func `a single draft tries another shard at once, for half of the shards, and then waits`() {
        var rounds = SubmitRounds(count: 1)
        var timeouts: [Duration] = []
        for shard in 0..<4 {
            let candidates = rounds.begin(free)
            #expect(candidates == (0..<4).map { $0 >= shard })
            timeouts.append(rounds.timeout(of: shard, canMove: true))
            let moved = rounds.failed(shard, .busy, after: timeouts[shard], isUsable: true)
            guard moved == .all else { break }
        }
        #expect(timeouts == [.zero, .zero, .zero, WriteTimeout.foreground])
    }

    @Test func `a draft with a key waits for its locked shard once, and fails`() {
        var rounds = SubmitRounds(count: 1)
        _ = rounds.begin(free)
        let timeout = rounds.timeout(of: 2, canMove: false)
        #expect(timeout == WriteTimeout.foreground)
        #expect(rounds.failed(2, .busy, after: timeout, isUsable: true) == .none)
    }

    @Test func `a batch waits briefly for a shard, and not for one that is known to be locked`() {
        var rounds = SubmitRounds(count: 40)
        var shards = free
        shards[1].isLocked = true
        _ = rounds.begin(shards)
        #expect(rounds.timeout(of: 0, canMove: true) == WriteTimeout.batch)
        #expect(rounds.timeout(of: 1, canMove: true) == .zero)
        #expect(rounds.timeout(of: 1, canMove: false) == WriteTimeout.foreground)
        // All its drafts are tried again: those with keys wait for the shard in the next round.
        #expect(rounds.failed(1, .busy, after: .zero, isUsable: true) == .all)
        #expect(rounds.begin(shards) == [true, false, true, true])
    }

    @Test(arguments: [.busy, .unreachable] as [StoreError.Code])
    func `a batch waits where each shard is busy or out of reach`(_ code: StoreError.Code) {
        var rounds = SubmitRounds(count: 40)
        _ = rounds.begin(free)
        for shard in 0..<4 {
            #expect(rounds.failed(shard, code, after: WriteTimeout.batch, isUsable: true) == .all)
        }
        #expect(rounds.begin(free) == [true, true, true, true])
        #expect(rounds.timeout(of: 0, canMove: true) == WriteTimeout.foreground)
    }

    @Test func `drafts without a key leave a shard whose WAL is full, as long as another has room`() {
        var rounds = SubmitRounds(count: 40)
        _ = rounds.begin(free)
        for shard in 0..<4 {
            #expect(rounds.failed(shard, .overloaded, after: .zero, isUsable: true) == .withoutKey)
        }
        _ = rounds.begin(free)
        #expect(rounds.failed(0, .overloaded, after: .zero, isUsable: true) == .none)
    }

    @Test func `drafts without a key leave a shard that turns out damaged`() {
        var rounds = SubmitRounds(count: 2)
        var shards = free
        #expect(rounds.begin(shards) == [true, true, true, true])
        #expect(rounds.failed(3, .corrupt, after: WriteTimeout.batch, isUsable: false) == .withoutKey)
        shards[3].isUsable = false
        #expect(rounds.begin(shards) == [true, true, true, false])
        // A shard that was damaged before has no drafts that could leave.
        #expect(rounds.failed(3, .corrupt, after: WriteTimeout.batch, isUsable: false) == .none)
    }

    @Test func `an error of another kind fails the drafts`() {
        var rounds = SubmitRounds(count: 2)
        _ = rounds.begin(free)
        #expect(rounds.failed(0, .full, after: WriteTimeout.batch, isUsable: true) == .none)
    }
}

import Commands
import Testing

/// Attempts in a row that bring a transfer no further.
struct ProgressCounterTests {
    private func end(_ offset: Int64, of length: Int64? = 1000) -> ProgressCounter.BodyEnd {
        ProgressCounter.BodyEnd(offset: offset, length: length)
    }

    @Test func `only a new highest offset is progress`() {
        var counter = ProgressCounter()
        #expect(counter.failed(durable: 0, body: nil) == .none)
        #expect(counter.failed(durable: 100, body: nil) == .progress)
        #expect(counter.failed(durable: 100, body: nil) == .none)
        // An offset that falls and rises again.
        #expect(counter.failed(durable: 0, body: nil) == .none)
        #expect(counter.failed(durable: 90, body: nil) == .none)
        #expect(counter.failed(durable: 101, body: nil) == .progress)
        #expect(counter.highest == 101)
    }

    @Test func `bodies that end at the same byte are charged from the third on`() {
        var counter = ProgressCounter()
        #expect(counter.failed(durable: 0, body: end(900)) == .none)
        #expect(counter.failed(durable: 0, body: end(900)) == .none)
        // A link that is away in between says nothing.
        #expect(counter.failed(durable: 0, body: nil) == .none)
        #expect(counter.failed(durable: 0, body: end(900)) == .stuck(ends: 3))
        #expect(counter.failed(durable: 0, body: end(900)) == .stuck(ends: 4))
        #expect(counter.failed(durable: 0, body: end(700)) == .none)
        // The part ends where the body that began it did.
        var resumed = ProgressCounter()
        #expect(resumed.failed(durable: 900, body: end(900)) == .progress)
        #expect(resumed.failed(durable: 900, body: end(900)) == .none)
        #expect(resumed.failed(durable: 900, body: end(900)) == .stuck(ends: 3))
    }

    @Test func `a body that is still being made is waited for during seven days`() {
        let start = Timestamp(milliseconds: 1_763_000_000_000)
        var counter = ProgressCounter()
        #expect(counter.pending(now: start) == true)
        #expect(counter.failed(durable: 0, body: nil) == .none)
        counter = ProgressCounter.split(counter.joined(to: nil)).counter
        #expect(counter.pending(now: start + .seconds(7 * 86_400 - 1)) == true)
        #expect(counter.pending(now: start + .seconds(7 * 86_400)) == false)
        #expect(counter.failed(durable: 1, body: nil) == .progress)
        #expect(counter.pending(now: start + .seconds(8 * 86_400)) == true)
    }

    @Test(arguments: [(0, 1), (1, 1), (30, 30), (3600, 60)]) func `a wait for a body is 1 s to 60 s, and uncharged`(
        _ asked: Int64, _ waited: Int64
    ) {
        let failure = CommandFailure.pending(reason: "it is being made", for: .seconds(asked))
        #expect(failure.isPending && failure.isHeldBack && failure.retryAfter == .seconds(waited))
        var command = Command(id: CommandID(), type: "download", destination: .none, createdAt: .now)
        (command.status, command.idempotent, command.retries) = (.sent, true, 5)
        let now = Timestamp.now
        let settlement = Settlement(of: command, result: .failure(failure), now: now, chance: 0.5)
        #expect(settlement.statuses == [.new] && settlement.retries == 5)
        #expect(settlement.notBefore == now + .seconds(waited))
    }

    @Test func `a stuck body is the command's failure, and a body that brought bytes an answer`() {
        var failure = CommandFailure(.reset, reason: "the body was cut off")
        failure.bodyEnd = end(900)
        let stuck = ProgressCounter().counted(failure, .stuck(ends: 3))
        #expect(stuck.fault == .command)
        #expect(stuck.reason == "the body was cut off; it states 1000 and sends 900 each time, 3 times in a row")
        let further = ProgressCounter().counted(failure, .progress)
        #expect(further.fault == .reset && further.hasProgress && further.isAnswer)
        #expect(ProgressCounter().counted(failure, .none) == failure)
    }

    @Test(arguments: [#"{"a":[1]}"#, "{}", #"{"progress":true}"#, #"{"a":{"b":"]}"}}"#])
    func `the counter is the last member of a checkpoint, which stays as it was`(_ text: String) throws {
        var counter = ProgressCounter()
        _ = counter.failed(durable: 5, body: end(5))
        let state = Array(text.utf8)
        let joined = counter.joined(to: state)
        #expect(try JSONValue(parsing: joined)["sluice.progress"] != nil)
        let split = ProgressCounter.split(joined)
        #expect(split.state == state && split.counter == counter)
        let alone = ProgressCounter.split(state)
        #expect(alone.state == state && alone.counter == ProgressCounter())
        #expect(ProgressCounter().joined(to: state) == state)
    }

    @Test func `an operation that has saved no checkpoint finds none`() {
        var counter = ProgressCounter()
        _ = counter.failed(durable: 0, body: end(900))
        let split = ProgressCounter.split(counter.joined(to: nil))
        #expect(split.state == nil && split.counter == counter)
    }

    @Test(arguments: [
        [1, 2], Array("[]".utf8), Array(#"{"sluice.progress":[1,2]}"#.utf8),
        Array(#"{"sluice.progress":[-1,2,3,0,1]}"#.utf8),
    ])
    func `other checkpoints stay as they are`(_ state: [UInt8]) {
        let split = ProgressCounter.split(state)
        #expect(split.state == state && split.counter == ProgressCounter())
    }
}

import Commands
import Host
import NetworkControl
import Store
import Testing

@testable import Coordination

/// Neither order nor age rests on the wall clock. These rest on the time of a command, and were searched for: the order within
/// a class, the command that a full window displaces, the floor, the commands of an unreachable destination. Backoffs,
/// deadlines and unique keys are those of ``ClockHoldConformance``; the worker orders what it holds by the number of the offer.
@Suite struct ClockJumpsTests: DispatcherFixtures {
    private static let days = Duration.seconds(8 * 86_400)

    /// Commands of one destination in several shards, as the clock dated them while it jumped by each of `jumps` after every
    /// third one.
    private struct Story {
        var commands: [ReadyCommand] = []
        var jumps = ClockJumps()
        /// The time of the clock at the end.
        var wall: Timestamp

        /// - Parameter knowsTurns: the last turns before each jump were read.
        init(_ jumps: [Duration], from start: Timestamp, shardCount: Int, knowsTurns: Bool) {
            wall = start
            var turns = [Int64](repeating: 0, count: shardCount)
            for number in 0..<(jumps.count + 1) * 3 {
                if number > 0, number % 3 == 0 {
                    let by = jumps[number / 3 - 1]
                    wall = wall + by
                    let jump = ClockJumps.Jump(by: by, wall: wall, shardCount: shardCount)
                    self.jumps.add(jump)
                    for shard in 0..<shardCount where knowsTurns {
                        self.jumps.setLastTurn(turns[shard], shard: shard, of: jump)
                    }
                }
                wall = wall + .seconds(1)
                let shard = number % shardCount
                turns[shard] += 1
                commands.append(
                    ReadyCommand(
                        id: CommandID(high: UInt64(number), low: UInt64(shard)), type: "noop", qos: .default,
                        destination: .none, turn: turns[shard], createdAt: wall))
            }
        }
    }

    private func order(_ queue: inout ReadyQueue, _ commands: [ReadyCommand]) -> [UInt64] {
        for command in commands.shuffled() { _ = queue.insert(command) }
        var order: [UInt64] = []
        while let next = queue.take(
            .middle, held: { _ in 0 }, verdict: { _, _ in .admitted(.ordinary) }, accepts: { _ in true })
        {
            order.append(next.command.id.high)
        }
        return order
    }

    @Test(arguments: [
        [days, .zero - days], [.zero - days, days], [days], [.zero - days],
        [.seconds(3), .seconds(-3), days, .zero - days],
        [.seconds(7200), .seconds(-14_400), .seconds(7200)],
    ])
    func `commands that are read again after jumps of the clock run in the order of their submission`(
        _ jumps: [Duration]
    ) {
        let story = Story(jumps, from: at, shardCount: 4, knowsTurns: true)
        let all = story.commands.map(\.id.high)
        var queue = ReadyQueue(shardCount: 4)
        (queue.present, queue.clockJumps) = (story.wall, story.jumps)
        #expect(order(&queue, story.commands) == all)
        // Of another coordinator.
        var next = ReadyQueue(shardCount: 4)
        (next.present, next.clockJumps) = (story.wall, ClockJumps(setting: story.jumps.json.text))
        #expect(order(&next, story.commands) == all)
        for command in story.commands {
            let entry = ReadyQueue.Entry(command: command, order: next.order(of: command))
            let seconds = next.age(of: entry, at: story.wall).seconds
            #expect(seconds == Double(all.count - 1 - Int(command.id.high)), "as old as it is")
        }
    }

    @Test func `until the turns before a jump are known, the times tell what the clock has written after it`() {
        let story = Story([Self.days, .zero - Self.days], from: at, shardCount: 2, knowsTurns: false)
        var queue = ReadyQueue(shardCount: 2)
        (queue.present, queue.clockJumps) = (story.wall, story.jumps)
        let found = order(&queue, story.commands)
        #expect(Set(found.prefix(3)) == [0, 1, 2] && Set(found.suffix(3)) == [6, 7, 8], "\(found)")
    }

    @Test func `within a queue of one shard the turn is the order, whatever a producer's clock has written`() {
        var queue = ReadyQueue(shardCount: 2)
        let commands = [5, -3, 8, 0].enumerated().map { number, days in
            ReadyCommand(
                id: CommandID(high: UInt64(number), low: 0), type: "noop", qos: .default, destination: .none,
                turn: Int64(number + 1), createdAt: at + .seconds(days * 86_400))
        }
        queue.present = at
        #expect(order(&queue, commands) == [0, 1, 2, 3])
    }

    @Test func `more jumps than are kept move the present with them`() {
        var jumps = ClockJumps()
        for number in 0..<100 {
            jumps.add(.init(by: .seconds(number % 2 == 0 ? 60 : -60), wall: at, shardCount: 1))
        }
        #expect(jumps.jumps.count == ClockJumps.maxCount && jumps.steady(now: at) == at)
        #expect(jumps.steady(at, shard: 0, turn: 1) == at)
        for text in [nil, "", "{}", "[{}]", #"[{"by":1,"from":2,"to":1,"turns":[]}]"#] {
            #expect(ClockJumps(setting: text).jumps.isEmpty)
        }
    }
}

import Commands
import Host
import Testing

@testable import Coordination

@Suite struct FlowChangesTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private let ids = (0..<4).map { CommandID(high: UInt64($0 + 1) << 16, low: 0) }

    private func flow(_ number: Int, ended: Int, of nodes: Int = 4) -> FlowState {
        var command = Command(id: ids[number], type: CommandType.flow, destination: .none, createdAt: .zero)
        command.status = ended == nodes ? .success : .blocked
        return FlowState(command: command, name: "flow \(number)", nodes: nodes, open: nodes - ended, failed: 0)
    }

    private func end(_ id: CommandID, type: String = "noop", shard: Int = 0) -> StatusEvent {
        StatusEvent(
            transition: Transition(seq: 1, id: id, status: .success, at: .zero, claim: 1, reason: nil), type: type,
            qos: .default, destination: .none, retries: 0, shard: shard)
    }

    private func round(
        _ changes: inout FlowChanges, after time: Duration = .zero, wantsAll: Bool = true,
        watched: Set<CommandID> = []
    ) -> FlowChanges.Round? {
        changes.round(now: start + time, shardCount: 1, wantsAll: wantsAll, watched: watched)
    }

    @Test func `the shard of an end is read, and only flows that have changed are published`() throws {
        var changes = FlowChanges()
        #expect(round(&changes) == nil && changes.nextDue == nil)
        changes.add(end(ids[3]))
        let first = try #require(round(&changes))
        #expect(first.shards == [0] && first.flows.isEmpty)
        #expect(round(&changes) == nil, "one read at a time")
        let found = [flow(0, ended: 1), flow(1, ended: 0)]
        #expect(changes.take(found, of: first, now: start).map(\.flow.name) == ["flow 0", "flow 1"])

        changes.add(end(ids[3]))
        #expect(round(&changes, after: .milliseconds(249)) == nil, "at most four a second")
        let second = try #require(round(&changes, after: .milliseconds(250)))
        let published = changes.take(
            [flow(0, ended: 2), flow(1, ended: 0)], of: second, now: start + .milliseconds(250))
        #expect(published.map(\.flow.name) == ["flow 0"] && !published[0].isSnapshot)
    }

    @Test func `the end of a flow is published once, though it is not open any more`() throws {
        var changes = FlowChanges()
        changes.addChanges(in: [0])
        let first = try #require(round(&changes))
        _ = changes.take([flow(0, ended: 3)], of: first, now: start)
        changes.add(end(ids[0], type: CommandType.flow))
        let second = try #require(round(&changes, after: .seconds(1)))
        #expect(second.flows == [ids[0]])
        #expect(changes.take([flow(0, ended: 4)], of: second, now: start + .seconds(1)).map(\.flow.open) == [0])
        // It is not read again, and an event that comes late publishes nothing.
        changes.addChanges(in: [0])
        let third = try #require(round(&changes, after: .seconds(2)))
        #expect(third.flows.isEmpty)
        _ = changes.take([], of: third, now: start + .seconds(2))
        changes.add(end(ids[0], type: CommandType.flow))
        let fourth = try #require(round(&changes, after: .seconds(3)))
        #expect(changes.take([flow(0, ended: 4)], of: fourth, now: start + .seconds(3)).isEmpty)
    }

    @Test func `a flow that began and ended between two rounds is published at its end`() throws {
        var changes = FlowChanges()
        changes.add(end(ids[2], type: CommandType.flow))
        let first = try #require(round(&changes))
        #expect(first.flows == [ids[2]])
        #expect(changes.take([flow(2, ended: 4)], of: first, now: start).count == 1)
    }

    @Test func `only flows that are named are read where no monitor wants all`() throws {
        var changes = FlowChanges()
        changes.subscribe(allIn: [], flows: [ids[1]])
        let first = try #require(round(&changes, wantsAll: false, watched: [ids[1]]))
        #expect(first.shards.isEmpty && first.flows == [ids[1]])
        let answer = changes.take([flow(1, ended: 4)], of: first, now: start)
        #expect(answer.map(\.isSnapshot) == [true], "also where it has ended")
        changes.addChanges(in: [0])
        let second = try #require(round(&changes, after: .seconds(1), wantsAll: false, watched: [ids[1]]))
        #expect(second.flows == [ids[1]])
        #expect(changes.take([flow(1, ended: 4)], of: second, now: start + .seconds(1)).isEmpty)
        changes.addChanges(in: [0])
        #expect(round(&changes, after: .seconds(2), wantsAll: false, watched: []) == nil)
    }

    @Test func `where many flows are open, ends come first, and the others are read in turn`() throws {
        var changes = FlowChanges()
        let many = (0..<250).map { number in
            var command = Command(
                id: CommandID(high: UInt64(number + 1) << 16, low: 0), type: CommandType.flow, destination: .none,
                createdAt: .zero)
            command.status = .blocked
            return FlowState(command: command, name: "", nodes: 2, open: 2, failed: 0)
        }
        changes.addChanges(in: [0])
        let first = try #require(round(&changes))
        #expect(changes.take(many, of: first, now: start).count == 250)
        var seen: Set<CommandID> = []
        for second in 1...3 {
            let newest = try #require(many.last).command.id
            changes.add(end(newest, type: CommandType.flow))
            let next = try #require(round(&changes, after: .seconds(second)))
            #expect(next.flows.first == newest && next.flows.count == FlowChanges.maxRead)
            seen.formUnion(next.flows)
            _ = changes.take(many, of: next, now: start + .seconds(second))
        }
        #expect(seen.count == 250)
    }

    @Test func `a new subscriber gets the open flows, and a read that failed is made again`() throws {
        var changes = FlowChanges()
        changes.addChanges(in: [0])
        let first = try #require(round(&changes))
        _ = changes.take([flow(0, ended: 1)], of: first, now: start)
        changes.subscribe(allIn: 0..<1, flows: [])
        let second = try #require(round(&changes, after: .seconds(1)))
        changes.readFailed(second, now: start + .seconds(1))
        #expect(round(&changes, after: .milliseconds(1500)) == nil)
        let third = try #require(round(&changes, after: .seconds(2)))
        #expect(third == second)
        let published = changes.take([flow(0, ended: 1)], of: third, now: start + .seconds(2))
        #expect(published.map(\.isSnapshot) == [true])
    }
}

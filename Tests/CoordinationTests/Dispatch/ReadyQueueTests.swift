import Commands
import Host
import NetworkControl
import Store
import Testing
import Wire

@testable import Coordination

@Suite struct ReadyQueueTests: DispatcherFixtures {
    private func host(_ number: Int) -> Destination { Destination(scheme: "http", host: "h\(number)", port: 80) }

    private func take(
        _ queue: inout ReadyQueue, held: (Destination) -> Int = { _ in 0 },
        _ verdict: (ReadyKey) -> Admission.Verdict = { _ in .admitted(.ordinary) }
    ) -> UInt64? {
        queue.take(.middle, held: held, verdict: { key, _ in verdict(key) }, accepts: { _ in true })?.command.id.high
    }

    @Test func `a command whose quality of service was raised moves to the front, and is there once`() {
        var queue = ReadyQueue(shardCount: 8)
        _ = queue.insert(ready(1, .background, to: host(1)))
        _ = queue.insert(ready(1, .default, to: host(1)))
        _ = queue.insert(ready(1, .background, to: host(1)))
        #expect(queue.count == 1 && queue.waiting(for: host(1)) == [.default: 1])
        #expect(take(&queue) == 1 && queue.count == 0)
    }

    @Test func `the destination that holds the fewest slots is next, and equals take turns`() {
        var queue = ReadyQueue(shardCount: 8)
        for number in Int64(1)...3 { _ = queue.insert(ready(number, to: host(1))) }
        for number in Int64(11)...13 { _ = queue.insert(ready(number, to: host(2))) }
        var held = [host(1): 5, host(2): 3]
        var order: [UInt64] = []
        while let next = take(&queue, held: { held[$0] ?? 0 }) {
            order.append(next)
            held[next < 10 ? host(1) : host(2), default: 0] += 1
        }
        #expect(order == [11, 12, 1, 13, 2, 3])
        for number in Int64(1)...3 { _ = queue.insert(ready(number, to: host(1))) }
        for number in Int64(11)...13 { _ = queue.insert(ready(number, to: host(2))) }
        #expect((0..<6).compactMap { _ in take(&queue) }.map { $0 / 10 } == [0, 1, 0, 1, 0, 1])
    }

    @Test func `a destination that is refused is not asked again before it is woken`() {
        var queue = ReadyQueue(shardCount: 8)
        for number in 1...1000 { _ = queue.insert(ready(Int64(number), to: host(number))) }
        var asked = 0
        let refuse: (ReadyKey) -> Admission.Verdict = { _ in
            asked += 1
            return .waits(AdmissionWait(.linkLimit))
        }
        #expect(take(&queue, refuse) == nil && asked == 1000)
        #expect(take(&queue, refuse) == nil && asked == 1000)
        queue.wake(host(7)) { _ in 0 }
        #expect(take(&queue) == 7)
        #expect(take(&queue) == nil)
        queue.wakeAll()
        #expect((0..<999).compactMap { _ in take(&queue) }.count == 999)
    }

    @Test func `the oldest and the newest destinations that wait for a probe are asked in turn, each once`() {
        var queue = ReadyQueue(shardCount: 8)
        for number in 1...6 { _ = queue.insert(ready(Int64(number), to: host(number))) }
        let refuse: (ReadyKey) -> Admission.Verdict = { _ in .waits(AdmissionWait(.probes)) }
        for _ in 0..<5 {
            #expect(take(&queue, refuse) == nil)
            for number in 1...6 { queue.wake(host(number)) { _ in 0 } }
        }
        #expect(take(&queue, refuse) == nil)
        var order: [UInt64] = []
        while queue.awaitsProbe {
            queue.wakeForProbe(failing: 1, untried: 0)
            if let next = take(&queue) { order.append(next) }
        }
        #expect(order == [6, 1, 5, 2, 4, 3])
    }

    @Test func `destinations that were never tried do not wait for the attempts of those that fail`() {
        var queue = ReadyQueue(shardCount: 8)
        for number in 1...6 { _ = queue.insert(ready(Int64(number), to: host(number))) }
        let failing = Set((1...5).map { host($0) })
        let refuse: (ReadyKey) -> Admission.Verdict = {
            .waits(AdmissionWait(failing.contains($0.destination) ? .probes : .untried))
        }
        #expect(take(&queue, refuse) == nil)
        queue.wakeForProbe(failing: 0, untried: 9)
        #expect(take(&queue) == 6 && take(&queue) == nil)
    }

    @Test func `keys of destinations that answer are read first, and those of destinations that fail last`() {
        var cursors = BacklogCursors()
        let keys = (1...6).map { ReadyKey(destination: host($0), qos: .default) }
        let urgencies: [BacklogCursors.Urgency] = [.last, .second, .first, .last, .second, .first]
        cursors.found(
            Set(keys), shard: 0, urgency: { key in urgencies[keys.firstIndex(of: key) ?? 0] }, now: .zero)
        let order = (1...6).compactMap { _ in cursors.takeKey()?.destination }
        #expect(Set(order.prefix(2)) == [host(3), host(6)] && Set(order[2..<4]) == [host(2), host(5)])
        #expect(Set(order).count == 6 && value(cursors.takeKey()) == nil)
    }

    @Test func `a command without a destination is read before thousands of unknown and dead destinations`() {
        var dispatcher = Dispatcher(shardCount: 1)
        let hello = Hello(pid: 1, startTime: 1, bootID: "b", concurrency: 4, types: ["noop"], executing: [])
        dispatcher.workerJoined(WorkerRecord(seat: 0, epoch: 1, hello: hello))
        let keys = (1...2000).map { ReadyKey(destination: host($0), qos: .default) }
        let own = ReadyKey(destination: .none, qos: .background)
        dispatcher.found(Set(keys + [own]), shard: 0, now: .zero)
        let first = dispatcher.refills()
        #expect(first.first?.key == own && first.count < 100)
    }

    @Test func `changed numbers of waiting commands are returned some at a time, each once`() {
        var queue = ReadyQueue(shardCount: 8)
        for number in 1...5 { _ = queue.insert(ready(Int64(number), to: host(number))) }
        var found: [Destination] = []
        for count in [2, 2, 1, 0] {
            let changed = queue.takeChanged(2)
            #expect(changed.count == count && changed.values.allSatisfy { $0 == [.default: 1] })
            found += changed.keys
        }
        #expect(Set(found) == Set((1...5).map { host($0) }) && found.count == 5)
    }

    @Test func `a full window of a quality of service drops its last command`() {
        var queue = ReadyQueue(shardCount: 8, limit: 2)
        #expect(queue.insert(ready(1)) == nil && queue.insert(ready(3)) == nil)
        #expect(queue.insert(ready(2))?.id.high == 3)
        #expect(queue.insert(ready(4))?.id.high == 4)
        #expect(queue.insert(ready(5, .utility)) == nil, "another quality of service")
        queue.remove(shards: [0])
        #expect(queue.count == 0 && !queue.holds(.middle) && !queue.holds(.low))
    }
}

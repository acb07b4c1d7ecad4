import Commands
import Host
import NetworkControl
import Settings
import Store
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Queue

/// The verbs of a queue: each sends its own hints, and none for what it does not change.
struct QueueAccessTests {
    private final class Hints: Sendable {
        private let sent = Mutex<[String]>([])

        func add(_ kind: Hint.Kind, _ ids: [CommandID]) { sent.withLock { $0.append("\(kind) \(ids.count)") } }

        /// The hints since the last call.
        func take() -> [String] {
            sent.withLock { sent in
                defer { sent = [] }
                return sent
            }
        }
    }

    private static func with(_ body: (InspectionRig, QueueAccess, Hints) throws -> Void) throws {
        try InspectionRig.with { rig in
            let hints = Hints()
            try body(rig, QueueAccess(rig.opened) { hints.add($0, $1) }, hints)
        }
    }

    private func rate(_ text: String) throws -> StartRate { try #require(StartRate(text: text)) }

    @Test func `a change of a rate limit keeps the other values, and one that changes nothing sends no hint`() throws {
        try Self.with { rig, queue, hints in
            var change = RateLimitChange()
            change.burst = .some(3)
            // A new limit needs its rate.
            #expect(try queue.changeRateLimit("api", change) == nil)
            #expect(try queue.rateLimits().isEmpty && hints.take().isEmpty)
            change.starts = try rate("30/s")
            let limit = RateLimit(starts: try rate("30/s"), burst: 3)
            #expect(try queue.changeRateLimit("api", change) == limit)
            #expect(hints.take() == ["settingsChanged 0"])
            change = RateLimitChange()
            change.starts = try rate("30/s")
            #expect(try queue.changeRateLimit("api", change) == limit && hints.take().isEmpty)
            change.burst = .some(nil)
            #expect(try queue.changeRateLimit("api", change) == RateLimit(starts: try rate("30/s")))
            #expect(try queue.removeRateLimit("other") == nil)
            #expect(hints.take() == ["settingsChanged 0"])
            #expect(try queue.removeRateLimit("api") == RemovedRateLimit(waiting: 0, schedules: []))
            #expect(hints.take() == ["settingsChanged 0"])
        }
    }

    @Test func `a reading runs while writes to locked shards hold every thread of the writes`() async throws {
        let rig = try InspectionRig.make()
        defer { rig.place.remove() }
        let (queue, gate, held) = (rig.queue, MonotonicSemaphore(value: 0), Shared(0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0...QueueThreads.maxWriters {
                group.addTask {
                    try await queue.write { _ in
                        held.change { $0 += 1 }
                        gate.wait()
                    }
                }
            }
            try await until("every thread") { held.value == QueueThreads.maxWriters }
            #expect(try await queue.read { queue in queue.shardCount } == rig.store.shardCount)
            for _ in 0...QueueThreads.maxWriters { gate.signal() }
            try await group.waitForAll()
        }
    }

    @Test func `a second pause keeps the time of the first, and one resume ends all`() throws {
        try Self.with { rig, queue, hints in
            let first = Pause(qos: .background, destination: nil, since: "2026-03-01T12:00:00.000Z")
            #expect(try queue.pause(first).isNew)
            var later = first
            later.since = "2026-03-02T12:00:00.000Z"
            let (pause, isNew) = try queue.pause(later)
            #expect(pause == first && !isNew)
            let other = Pause(qos: nil, destination: InspectionRig.origin, since: later.since)
            #expect(try queue.pause(other).isNew)
            #expect(hints.take() == ["settingsChanged 0", "settingsChanged 0"])
            #expect(try queue.resume(Pause(qos: .default, destination: nil, since: "")).isEmpty)
            #expect(hints.take().isEmpty)
            #expect(try queue.resume(nil) == [first, other].sorted { $0.key < $1.key })
            #expect(try queue.pauses().isEmpty && hints.take() == ["settingsChanged 0"])
        }
    }

    @Test func `a change of a command names what has prevented it`() throws {
        try Self.with { rig, queue, hints in
            let id = try rig.submit("noop").id
            #expect(try queue.retry(id) == .refused(.notAllowed(.new)))
            #expect(try queue.resolve(id, as: .success) == .refused(.notAllowed(.new)))
            #expect(try queue.cancel(CommandID()) == .refused(.unknown))
            #expect(try queue.cancel(id, ifNewest: 99) == .refused(.outdated))
            #expect(hints.take().isEmpty)
            #expect(try queue.requalify(id, to: .background) == .requalified)
            #expect(try queue.cancel(id) == .cancelled)
            #expect(try queue.cancel(id) == .refused(.ended(.cancelled)))
            #expect(try queue.requalify(id, to: .default) == .refused(.notAllowed(.cancelled)))
            #expect(try queue.retry(id) == .retried)
            #expect(hints.take() == ["changed 1", "changed 1", "changed 1"])
            #expect(try queue.details(of: id, limit: 2)?.timeline.map(\.status) == [.cancelled, .new])
            #expect(try queue.details(of: id, limit: 2)?.previous?.status == .new)
            #expect(try queue.details(of: id, limit: nil)?.timeline.count == 3)
            #expect(try queue.details(of: CommandID(), limit: 2) == nil)
        }
    }

    @Test func `a paused endpoint goes on once`() throws {
        try Self.with { rig, queue, _ in
            let endpoint = WebhookEndpointSetting(name: "billing", origin: InspectionRig.origin)
            #expect(try queue.pauseWebhook(endpoint).isChanged)
            #expect(try !queue.pauseWebhook(endpoint).isChanged)
            let resumed = try queue.resumeWebhook(endpoint)
            #expect(resumed.isChanged && resumed.waited == 0 && !resumed.mayHoldBack)
            #expect(try !queue.resumeWebhook(endpoint).isChanged)
        }
    }

    @Test func `a command of another type is told with its flow`() throws {
        try Self.with { rig, queue, _ in
            let id = try rig.submit("noop").id
            guard case .other(let command, flow: nil) = try queue.flow(id, limit: 10) else {
                Issue.record("no command of another type")
                return
            }
            #expect(command.id == id)
            guard case .missing = try queue.batch(CommandID()) else {
                Issue.record("a batch that does not exist")
                return
            }
        }
    }
}

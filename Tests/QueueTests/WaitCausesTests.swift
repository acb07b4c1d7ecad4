import Commands
import Console
import NetworkControl
import Store
import Testing

@testable import Queue

struct WaitCausesTests {
    private static let a = Destination("http://a.example:80")!
    private static let base = Timestamp(milliseconds: 1_772_368_496_000)

    private static func queue(_ count: Int = 12, release: String? = nil) -> WaitingQueue {
        let command = Command(id: CommandID(), type: "noop", destination: a, createdAt: Self.base)
        var queue = WaitingQueue(count: count, isComplete: true, first: command)
        queue.release = release.map { WaitingQueue.Release(reason: $0, at: Self.base) }
        return queue
    }

    /// The causes of one queue to ``a``, with a coordinator and a worker that has a free slot.
    private static func cause(
        _ queue: WaitingQueue = queue(), of name: WaitingQueue.Name = .destination(a),
        _ change: (inout WaitCauses) -> Void = { _ in }
    ) throws -> WaitCause {
        var causes = WaitCauses()
        causes.workers = [WorkerReading(seat: 0, pid: 1, state: .ready, concurrency: 8)]
        change(&causes)
        return try #require(causes.causes(of: [name: queue], now: Self.base).first)
    }

    private static func link(_ level: LinkLevel, _ change: (inout LinkReport) -> Void = { _ in }) -> LinkReport {
        var link = LinkReport(destination: a.text, level: level)
        change(&link)
        return link
    }

    @Test func `a destination that refuses connections is named before its link has a level`() throws {
        let reason = "http://a.example:80 refuses connections; is it running?"
        let cause = try Self.cause(Self.queue(release: reason)) { $0.links = [Self.link(.unknown)] }
        #expect(cause.kind == .failing && cause.text == reason && cause.count == 12)
        // A link that is offline, a pause and a missing process are nearer causes.
        let offline = try Self.cause(Self.queue(release: reason)) { causes in
            causes.links = [Self.link(.offline) { $0.isForced = true }]
        }
        #expect(offline.kind == .person && offline.text == "held offline by a person")
        #expect(try Self.cause(Self.queue(release: reason)) { $0.workers = [] }.text == "no worker takes commands")
        #expect(try Self.cause(Self.queue(release: reason)) { $0.hasCoordinator = false }.kind == .process)
    }

    @Test func `a pause is the cause where it covers the first command`() throws {
        func cause(_ pause: Pause) throws -> WaitCause { try Self.cause { $0.pauses = [pause] } }
        #expect(try cause(Pause(qos: nil, destination: Self.a, since: "")).text == "paused by a person")
        #expect(try cause(Pause(qos: nil, destination: nil, since: "")).text == "paused by a person: everything")
        #expect(try cause(Pause(qos: .default, destination: nil, since: "")).kind == .person)
        #expect(try cause(Pause(qos: .background, destination: nil, since: "")).kind == .turn)
        let other = Destination("http://b.example:80")!
        #expect(try cause(Pause(qos: nil, destination: other, since: "")).kind == .turn)
    }

    @Test func `a rule of admission has its measure and its threshold`() throws {
        let cause = try Self.cause { causes in
            causes.links = [Self.link(.good) { $0.waits[.default] = AdmissionWait(.maxConcurrency, 4, of: 4) }]
        }
        #expect(
            cause.text
                == "http://a.example:80 may have 4 at a time (“maxConcurrency”), and 4 commands run there; the next starts at fewer "
                + "than 4"
                && cause.kind == .turn)
    }

    @Test func `a limit that is missing does not end by time`() throws {
        let limit = RateLimit(starts: StartRate(text: "5/h")!, atOnce: 2)
        let there = try Self.cause(of: .limit("slow")) { $0.limits = ["slow": limit] }
        #expect(there.text == "starts 5/h, 2 at once" && !there.isStopped)
        #expect(try Self.cause(of: .limit("slow")).kind == .failing)
    }

    @Test func `causes that time does not end come first, then those of most commands`() {
        var causes = WaitCauses()
        causes.workers = [WorkerReading(seat: 0, pid: 1, state: .ready, concurrency: 8)]
        let names = (0..<3).map { WaitingQueue.Name.destination(Destination("http://\($0).example:80")!) }
        let found = causes.causes(
            of: [
                names[0]: Self.queue(3), names[1]: Self.queue(70), names[2]: Self.queue(1, release: "refuses"),
            ], now: Self.base)
        #expect(found.map(\.count) == [1, 70, 3])
    }
}

import Commands
import Glibc
import Host
import NetworkControl
import Store
import TestSupport
import Testing
import Wire

@testable import Coordination

/// Well-formed frames of every type, with the identity of a registered worker and numbers at the ends of their ranges.
///
/// Traps that these frames found: the window of a worker after 2⁶³ − 1 completions, a locked shard beyond the last, the pace of
/// a link that carried 2⁶³ − 1 bytes in a quarter of a second, and the bytes that close a circuit breaker. Every other sum, product and conversion of a
/// received number in Wire, Coordination, NetworkControl and Work was read: they clamp, or the frame is refused.
@Suite struct FrameFuzzTests: DispatcherFixtures {
    /// `SLUICE_FUZZ_FRAMES` sets another number; the long form has 100,000.
    static let frames = getenv("SLUICE_FUZZ_FRAMES").flatMap { Int(String(cString: $0)) } ?? 500

    /// The parts of a coordinator that take in frames, without its sockets and its store.
    private struct Parts {
        var dispatcher: Dispatcher
        var sequencer = EventSequencer(newest: [Int64](repeating: 0, count: 8))
        var flows = FlowChanges()
        var unavailable: [CommandID: Unavailable.Answer] = [:]
        var writer = JSONWriter(capacity: 1024)
        var now = MonotonicTime.zero
        var at = Timestamp(milliseconds: 1_800_000_000_000)

        mutating func receive(_ head: FrameHead, _ message: Message) {
            switch message {
            case .state(let state): take(state, from: head.seat)
            case .statuses(let state, let reports):
                take(state, from: head.seat)
                for var report in reports {
                    report.unavailable = unavailable.removeValue(forKey: report.event.transition.id)
                    dispatcher.transition(report, now: now)
                    publish(report.event)
                }
            case .transfers(let transfers):
                dispatcher.links.report(transfers, worker: head.epoch, now: now)
                let at = at
                for transfer in transfers.transfers { write { Event.progress(transfer, at: at, to: &$0) } }
                for link in transfers.links where link.allBytes > 0 {
                    write { Event.bandwidth(link, worker: head.seat, at: at, to: &$0) }
                }
            case .effects(let effects):
                for report in effects.events { publish(report.event) }
                dispatcher.insert(effects.ready, now: now)
            case .unavailable(let message):
                for answer in message.answers { unavailable[answer.execution.id] = answer }
            case .commitTime(let time): dispatcher.report(seat: head.seat, commitTime: time)
            case .submitted(let submitted): dispatcher.insert(submitted.commands, now: now)
            case .hint(let hint):
                dispatcher.changed(hint.ids)
                dispatcher.notReady(hint.ids, now: now)
            // A worker of another seat that joins.
            case .hello(let hello):
                _ = dispatcher.workerLeft(seat: 2, now: now)
                dispatcher.workerJoined(WorkerRecord(seat: 2, epoch: head.sequence, hello: hello))
            case .program, .published, .offers, .control, .handover: break
            }
        }

        private mutating func take(_ state: WorkerState, from seat: Int) {
            dispatcher.report(seat: seat, state: state, coordinator: 7, now: now)
            _ = dispatcher.followLocks(now: now)
        }

        private mutating func publish(_ event: StatusEvent) {
            flows.add(event)
            var writer = writer
            sequencer.add(event, now: now) { Event.status($0, to: &writer) }
            let complete = min(event.transition.seq, .max - 1)
            for read in sequencer.reads(now: now) {
                let page = EventPage([event], complete: complete, prunedThrough: complete)
                _ = sequencer.fill(shard: read.shard, after: read.after, page, now: now) {
                    Event.status($0, to: &writer)
                }
            }
        }

        private mutating func write(_ body: (inout JSONWriter) -> Void) {
            writer.removeAll()
            body(&writer)
        }

        /// The loop runs between frames.
        mutating func tick(_ elapsed: Duration) {
            now += elapsed
            at = at + elapsed
            dispatcher.advance(awake: elapsed)
            dispatcher.networkTick(minuteOfDay: 0, now: now)
            _ = dispatcher.dispatch(at: at, now: now)
            _ = dispatcher.withdrawUnclaimed(now: now)
            dispatcher.expireProbes(now: now)
            _ = dispatcher.refills()
            _ = dispatcher.nextDue(now: now)
            let (now, wall, controller) = (now, at, dispatcher.links.controller)
            for key in controller.links.keys {
                guard let state = controller.state(of: key, now: now) else { continue }
                var report = LinkReport(state) { wall + ($0 - now) }
                for qos in QualityOfService.allCases {
                    report.gates[qos] = controller.waitReason(of: qos, to: key, now: now)?.map { wall + ($0 - now) }
                }
                if let destination = key.destination { report.waits = dispatcher.waits(at: destination, now: now) }
                write { Event.link(report.destination, report.members, at: wall, to: &$0) }
            }
        }
    }

    @Test(arguments: [1, 2, 3])
    func `frames of every type with the identity of a live worker cause no trap`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var parts = Parts(dispatcher: dispatcher(seats: 2, types: ["noop", "upload", "a"]))
        var refused: [String: Int] = [:]
        var sent = 0
        while sent < Self.frames {
            for message in Samples.all(&random) {
                sent += 1
                let head = FrameHead(seat: random.number(in: 0..<2), epoch: 1, sequence: Int64(sent))
                var frame = message.encoded(head)
                if random.chance(0.2), frame.count > 22 {
                    frame[random.number(in: 20..<frame.count)] = [0, 0x7F, 0x80, 0xFF][random.number(in: 0..<4)]
                }
                do throws(WireError) {
                    let (head, message) = try Message.decode(frame)
                    parts.receive(head, message)
                } catch {
                    #expect(error.description.contains("“\(error.field)”"), "\(error)")
                    refused[error.field, default: 0] += 1
                }
                if random.chance(0.3) { parts.tick(.milliseconds(Int64(random.number(in: 0..<400)))) }
            }
        }
        #expect(parts.dispatcher.seats[0] != nil && !refused.isEmpty)
    }

    @Test func `a worker that states the highest number of completions has the largest window`() {
        var dispatcher = dispatcher()
        dispatcher.report(seat: 0, commitTime: CommitTime(.microseconds(3_599_999_999)))
        for (beat, completed) in [0, Int64.max, 0].enumerated() {
            var state = WorkerState()
            state.completed = completed
            dispatcher.report(seat: 0, state: state, coordinator: 7, now: after(Double(beat)))
            _ = dispatcher.dispatch(at: at, now: after(Double(beat)))
            if completed == .max { #expect(dispatcher.seats[0]?.window == WorkerRecord.maxWindow) }
        }
    }
}

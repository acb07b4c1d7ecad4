import Commands
import Glibc
import Host
import TestSupport
import Testing
import Wire

@testable import Operations
@testable import Work

/// Well-formed frames of a coordinator, with numbers at the ends of their ranges, as a worker takes them in. The other
/// direction is in the tests of Coordination.
@Suite struct FrameFuzzTests {
    static let frames = getenv("SLUICE_FUZZ_FRAMES").flatMap { Int(String(cString: $0)) } ?? 2000

    @Test(arguments: [1, 2, 3])
    func `offers and control states with the identity of the coordinator cause no trap`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var slots = SlotScheduler(concurrency: 4)
        var paces = PaceTable()
        var bucket = ByteBucket()
        var now = MonotonicTime.zero
        let destination = Destination(scheme: "http", host: "a", port: 80)
        var command = Command(id: CommandID(high: 1, low: 1), type: "noop", destination: destination, createdAt: .zero)
        for number in 0..<Self.frames {
            command.qos = QualityOfService.allCases[number % 5]
            let message =
                random.chance(0.5) ? Message.offers(Samples.offers(&random)) : .control(Samples.control(&random))
            let head = FrameHead(seat: 0, epoch: random.chance(0.9) ? 7 : 8, sequence: Int64(number))
            let (readHead, read) = try Message.decode(message.encoded(head))
            switch read {
            case .offers(let offers): slots.offered(offers, coordinator: readHead.epoch, now: now)
            case .control(var control):
                slots.pause(control.pauses)
                for cancel in control.cancels { _ = slots.held.stop(cancel.id, claim: cancel.claim, .cancelled) }
                control.paces += [
                    .init(
                        group: Offers.group(of: destination), direction: .up, qos: command.qos,
                        bytesPerSecond: Samples.number(&random))
                ]
                paces.paces = control.paces
                paces.isCoordinatorSilent = random.chance(0.2)
                let rate = paces.rate(of: command, .up) ?? 0
                let available = bucket.available(rate: rate, now: now)
                bucket.take(min(available, 1 << 20))
                _ = bucket.wait(for: 1 << 20, rate: rate)
            default: break
            }
            now += .milliseconds(Int64(random.number(in: 0..<400)))
            let decision = slots.begin(now: now)
            for claim in decision.claims { slots.held.refused(claim.id) }
            _ = slots.tick(now: now)
            let state = slots.state
            let again = try Message.decode(Message.state(state).encoded(head)).1
            #expect(again == .state(state))
        }
    }
}

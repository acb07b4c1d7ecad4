import CLinux
import Commands
import Glibc

/// A TUN device on each side, with this process between them.
///
/// Up: client → shared link → link of the destination → server. Down: the same in reverse. Times are nanoseconds of
/// CLOCK_MONOTONIC, because each packet costs time.
final class PacketShaper: Shaper {
    let name = "tun"
    private let client: CInt
    private let server: CInt
    private let shared: (up: LinkStage, down: LinkStage)
    private let own: [(up: LinkStage, down: LinkStage)?]
    private var pool = PacketPool()
    private var ledger = FlowLedger()

    /// The maximum number of packets that one turn reads from a device.
    private static let batch = 64
    /// The minimum sleep of the loop in nanoseconds. A packet may arrive this much later.
    private static let shortestSleep: Int64 = 150_000

    init(_ configuration: EmulatorConfiguration, _ networks: Networks) throws {
        let device = "sluice0"
        func open(_ side: Networks.Side) throws -> CInt {
            try networks.within(side) {
                let descriptor = clinux_open_tun(device)
                guard descriptor >= 0 else { throw Refusal.system("no TUN device for the \(side)") }
                return descriptor
            }
        }
        client = try open(.client)
        server = try open(.server)
        try networks.addressClient(device)
        try networks.addressServers(device, count: configuration.destinations.count)
        var seed = configuration.seed
        func stage(_ shape: LinkShape) -> LinkStage {
            seed &+= 1
            return LinkStage(shape, seed: seed &* 0x9E37_79B9)
        }
        shared = (stage(configuration.uplink), stage(configuration.uplink))
        own = configuration.destinations.map { $0.map { (stage($0), stage($0)) } }
    }

    func run(until control: ControlServer, answer: (JSONValue) throws -> JSONValue) throws {
        clinux_set_timer_slack(1)
        var descriptors = [
            pollfd(fd: client, events: Int16(POLLIN), revents: 0),
            pollfd(fd: server, events: Int16(POLLIN), revents: 0),
        ]
        let devices = descriptors.count
        while !control.isDeserted {
            descriptors.removeSubrange(devices...)
            for descriptor in control.descriptors {
                descriptors.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
            }
            guard clinux_wait(&descriptors, UInt(descriptors.count), sleep()) >= 0 || errno == EINTR else {
                throw Refusal.system("ppoll")
            }
            if descriptors[0].revents != 0 { read(client, isUp: true) }
            if descriptors[1].revents != 0 { read(server, isUp: false) }
            carry(clinux_monotonic())
            if descriptors[devices...].contains(where: { $0.revents != 0 }) { control.serve(answer) }
        }
    }

    /// The nanoseconds until the next packet is due.
    private func sleep() -> Int64 {
        var deadline = min(shared.up.deadline, shared.down.deadline)
        for link in own { if let link { deadline = min(deadline, link.up.deadline, link.down.deadline) } }
        return min(max(deadline &- clinux_monotonic(), Self.shortestSleep), 50_000_000)
    }

    private func read(_ device: CInt, isUp: Bool) {
        for _ in 0..<Self.batch {
            guard let slot = pool.take() else { return }
            let bytes = pool.bytes(slot)
            let length = Glibc.read(device, bytes, PacketPool.slotSize)
            // IPv4 only. The servers have the addresses 10.77.i.1.
            guard length >= 20, bytes.load(as: UInt8.self) >> 4 == 4 else {
                pool.give(slot)
                if length < 0 { return }
                continue
            }
            let route = Int(bytes.load(fromByteOffset: isUp ? 18 : 14, as: UInt8.self)) &- 1
            guard own.indices.contains(route) else {
                pool.give(slot)
                continue
            }
            let now = clinux_monotonic()
            if isUp { ledger.count(bytes, length: length, route: route, at: now) }
            let packet = Packet(slot: slot, length: Int32(length), route: Int32(route), at: now)
            offer(packet, to: isUp ? shared.up : own[route]?.down ?? shared.down)
        }
    }

    private func offer(_ packet: Packet, to stage: LinkStage) {
        if !stage.accept(packet) { pool.give(packet.slot) }
    }

    private func carry(_ now: Int64) {
        shared.up.advance(now) { packet in
            if let link = own[Int(packet.route)] {
                offer(packet, to: link.up)
            } else {
                deliver(packet, from: shared.up)
            }
        }
        for link in own {
            guard let link else { continue }
            link.up.advance(now) { deliver($0, from: link.up) }
            link.down.advance(now) { offer($0, to: shared.down) }
        }
        shared.down.advance(now) { write($0, client) }
    }

    /// Passes a packet to the servers, or answers a SYN with RST.
    private func deliver(_ packet: Packet, from stage: LinkStage) {
        guard stage.shape.resetEvery != nil, TCPReset.isConnect(pool.bytes(packet.slot), length: Int(packet.length)),
            stage.resetsConnect()
        else { return write(packet, server) }
        var reset = packet
        reset.length = Int32(TCPReset.answer(inPlaceOf: pool.bytes(packet.slot)))
        offer(reset, to: own[Int(packet.route)]?.down ?? shared.down)
    }

    private func write(_ packet: Packet, _ device: CInt) {
        // A device that is down loses the packet, as a real one does.
        _ = Glibc.write(device, pool.bytes(packet.slot), Int(packet.length))
        pool.give(packet.slot)
    }

    // MARK: Control

    func change(destination: Int?, direction: Direction?, _ change: JSONValue) throws {
        guard let link = destination.map({ own[$0] }) ?? shared else {
            throw Refusal("the destination has no link of its own")
        }
        for way in Direction.allCases where direction == nil || direction == way {
            let stage = way == .up ? link.up : link.down
            stage.shape = try stage.shape.changed(by: change)
            if stage.shape.isBlackout { stage.clear { pool.give($0) } }
        }
    }

    func flows(since: Int64) -> JSONValue? { ledger.json(since: since) }

    var links: JSONValue {
        func row(_ name: String, _ link: (up: LinkStage, down: LinkStage)) -> JSONValue {
            ["link": .string(name), "up": link.up.counters, "down": link.down.counters]
        }
        return .array(
            [row("*", shared)]
                + own.enumerated().compactMap { index, link in link.map { row("10.77.\(index + 1).1", $0) } })
    }
}

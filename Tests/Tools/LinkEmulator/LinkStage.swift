import Commands

/// One direction of one link. Packets wait in a drop-tail queue, are sent in order at the rate of the link,
/// and arrive after the delay.
final class LinkStage {
    /// A change takes effect at once, also for waiting packets. Packets in flight keep their time of arrival.
    var shape: LinkShape
    private var waiting = PacketRing()
    private var waitingBytes = 0
    private var flying = PacketRing()
    /// The time at which the last bit of the last packet is sent.
    private var freeAt: Int64 = 0
    private var lastArrival: Int64 = 0
    private var random: UInt64

    private(set) var deliveredPackets = 0
    private(set) var deliveredBytes = 0
    private(set) var droppedByQueue = 0
    private(set) var lost = 0
    private var connects = 0
    private var resets = 0

    /// Packets that are due within this time are sent now, to save wake-ups.
    private static let ahead: Int64 = 500_000

    init(_ shape: LinkShape, seed: UInt64) {
        self.shape = shape
        random = seed
    }

    /// - Returns: false if the packet is lost; the caller then owns its memory again.
    func accept(_ packet: Packet) -> Bool {
        if shape.isBlackout || (shape.loss > 0 && draw() < shape.loss) {
            lost &+= 1
            return false
        }
        guard waitingBytes &+ Int(packet.length) <= shape.queue, !waiting.isFull, !flying.isFull else {
            droppedByQueue &+= 1
            return false
        }
        waiting.append(packet)
        waitingBytes &+= Int(packet.length)
        return true
    }

    /// Delivers the packets that have arrived by `now`, with their times.
    func advance(_ now: Int64, _ deliver: (Packet) -> Void) {
        while waiting.count > 0, freeAt <= now &+ Self.ahead, !flying.isFull {
            var packet = waiting.removeFirst()
            waitingBytes &-= Int(packet.length)
            let start = max(freeAt, packet.at)
            freeAt = shape.rate.map { start &+ Int64(Double(packet.length) * 8e9 / $0) } ?? start
            lastArrival = max(lastArrival, freeAt &+ shape.delay)
            packet.at = lastArrival
            flying.append(packet)
        }
        while flying.count > 0, flying.first.at <= now {
            let packet = flying.removeFirst()
            deliveredPackets &+= 1
            deliveredBytes &+= Int(packet.length)
            deliver(packet)
        }
    }

    /// Counts a SYN that arrives.
    /// - Returns: whether the answer is RST.
    func resetsConnect() -> Bool {
        connects &+= 1
        guard let every = shape.resetEvery, connects % every == 0 else { return false }
        resets &+= 1
        return true
    }

    /// The time of the next event; `Int64.max` without packets.
    var deadline: Int64 {
        min(waiting.count > 0 ? freeAt : .max, flying.count > 0 ? flying.first.at : .max)
    }

    /// Loses every packet.
    func clear(_ give: (Int32) -> Void) {
        lost &+= waiting.count &+ flying.count
        while waiting.count > 0 { give(waiting.removeFirst().slot) }
        while flying.count > 0 { give(flying.removeFirst().slot) }
        waitingBytes = 0
        freeAt = 0
        lastArrival = 0
    }

    /// A random number from 0 to 1 (SplitMix64).
    private func draw() -> Double {
        random &+= 0x9E37_79B9_7F4A_7C15
        var mixed = random
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53
    }

    var counters: JSONValue {
        [
            "packets": .integer(Int64(deliveredPackets)), "bytes": .integer(Int64(deliveredBytes)),
            "dropped": .integer(Int64(droppedByQueue)), "lost": .integer(Int64(lost)),
            "waiting": .integer(Int64(waitingBytes)), "reset": .integer(Int64(resets)),
        ]
    }
}

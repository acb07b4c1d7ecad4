/// A queue of packets in fixed memory. Unchecked pointers let a debug build carry 100 Mbit/s.
struct PacketRing {
    private let storage: UnsafeMutablePointer<Packet>
    private var head = 0
    private(set) var count = 0
    private static let capacity = 1 << 15

    init() {
        storage = .allocate(capacity: Self.capacity)
        storage.initialize(repeating: Packet(slot: 0, length: 0, route: 0, at: 0), count: Self.capacity)
    }

    var isFull: Bool { count == Self.capacity }
    var first: Packet { storage[head] }

    mutating func append(_ packet: Packet) {
        storage[(head &+ count) & (Self.capacity &- 1)] = packet
        count &+= 1
    }

    mutating func removeFirst() -> Packet {
        let packet = storage[head]
        head = (head &+ 1) & (Self.capacity &- 1)
        count &-= 1
        return packet
    }
}

/// A packet on its way: where its bytes are, whose it is, and a time.
struct Packet {
    var slot: Int32
    var length: Int32
    /// The destination's index.
    var route: Int32
    /// CLOCK_MONOTONIC in nanoseconds: of its arrival while it waits, of its delivery while it flies.
    var at: Int64
}

/// A queue of packets in memory that never moves. Unchecked pointers, so that a debug build carries 100 Mbit/s too.
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

/// Memory for the bytes of packets.
struct PacketPool {
    static let slotSize = 2048
    private static let slots = 1 << 15
    private let storage: UnsafeMutableRawPointer
    private let free: UnsafeMutablePointer<Int32>
    private var freeCount: Int

    init() {
        storage = .allocate(byteCount: Self.slots * Self.slotSize, alignment: 16)
        free = .allocate(capacity: Self.slots)
        for slot in 0..<Self.slots { free[slot] = Int32(slot) }
        freeCount = Self.slots
    }

    func bytes(_ slot: Int32) -> UnsafeMutableRawPointer { storage + Int(slot) &* Self.slotSize }

    /// A slot, nil where all are taken.
    mutating func take() -> Int32? {
        guard freeCount > 0 else { return nil }
        freeCount &-= 1
        return free[freeCount]
    }

    mutating func give(_ slot: Int32) {
        free[freeCount] = slot
        freeCount &+= 1
    }
}

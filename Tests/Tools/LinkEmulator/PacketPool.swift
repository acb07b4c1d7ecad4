/// The memory for the bytes of packets.
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

    /// Takes a slot; nil if all are taken.
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

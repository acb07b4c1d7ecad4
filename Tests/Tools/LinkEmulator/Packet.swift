/// A packet in the emulator: the slot of its bytes, its destination, and a time.
struct Packet {
    var slot: Int32
    var length: Int32
    /// The index of the destination.
    var route: Int32
    /// The arrival of a waiting packet, or the delivery of a packet in flight, in nanoseconds of
    /// CLOCK_MONOTONIC.
    var at: Int64
}

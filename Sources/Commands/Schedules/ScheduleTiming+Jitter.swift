extension ScheduleTiming {
    /// The nominal time with its jitter.
    ///
    /// The jitter is FNV-1a (64 bits) of the bytes of the unique key, its upper half folded into the lower by
    /// exclusive or, modulo the smaller of the definition's jitter and half of the gap to the next nominal time,
    /// in milliseconds. It depends on the name and the time alone, and is the same after a failover.
    func notBefore(of nominal: Timestamp, in zone: TimeZoneOffsets) -> Timestamp {
        var limit = definition.jitter.milliseconds
        guard limit > 0 else { return nominal }
        if let next = definition.expression.next(after: nominal, in: zone) {
            limit = min(limit, (next - nominal).milliseconds / 2)
        }
        guard limit > 0 else { return nominal }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in definition.uniqueKey(of: nominal).utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return nominal + .milliseconds(Int64((hash >> 32 ^ hash & 0xFFFF_FFFF) % UInt64(limit)))
    }
}

internal import Commands

/// The room in the spool that uploads have been promised. Pure.
struct SpoolSpace: Sendable, Equatable {
    /// Bytes of one upload.
    private struct Share: Equatable {
        /// Those that count towards the quota.
        var size: Int64
        /// Those of them for which the disk has not set blocks aside.
        var unallocated: Int64
    }

    private var shares: [CommandID: Share] = [:]
    /// Bytes of all uploads in the spool.
    private(set) var used: Int64 = 0
    /// Promised bytes that the free room of the disk still contains.
    private(set) var unallocated: Int64 = 0

    enum Refusal: Error, Equatable {
        /// - Parameter available: bytes.
        case quota(available: Int64)
        case disk(available: Int64)
    }

    /// Promises room for an upload, in addition to that which it has.
    /// - Parameters:
    ///   - size: the bytes that it needs now, and those that it may come to need. Of the latter it gets at most an eighth
    ///     of the room, so that several uploads of unknown length find some in a small spool.
    ///   - free: bytes that the disk has free.
    mutating func reserve(
        _ id: CommandID, size: ClosedRange<Int64>, free: Int64, minFree: Int64, quota: Int64?
    ) throws(Refusal) {
        let old = shares[id] ?? Share(size: 0, unallocated: 0)
        let needed = size.lowerBound - old.size
        guard needed > 0 else { return }
        let share = quota.map { $0 - used } ?? .max
        guard needed <= share else { throw .quota(available: max(share, 0)) }
        let available = free - unallocated - minFree
        guard needed <= available else { throw .disk(available: max(available, 0)) }
        let growth = max(needed, min(size.upperBound - old.size, min(share, available) / 8))
        set(id, Share(size: old.size + growth, unallocated: old.unallocated + growth))
    }

    /// An upload that is there already.
    mutating func add(_ id: CommandID, size: Int64, unallocated: Int64) {
        set(id, Share(size: size, unallocated: max(unallocated, 0)))
    }

    /// The disk has set blocks aside for the whole upload, or has the bytes themselves.
    mutating func allocated(_ id: CommandID) {
        guard var share = shares[id] else { return }
        share.unallocated = 0
        set(id, share)
    }

    /// The size that an upload has in the end.
    mutating func settle(_ id: CommandID, size: Int64) { set(id, Share(size: size, unallocated: 0)) }

    mutating func release(_ id: CommandID) { set(id, nil) }

    /// The uploads that are counted.
    var ids: [CommandID] { Array(shares.keys) }

    func size(of id: CommandID) -> Int64 { shares[id]?.size ?? 0 }

    private mutating func set(_ id: CommandID, _ share: Share?) {
        let old = shares.updateValue(share ?? Share(size: 0, unallocated: 0), forKey: id)
        if share == nil { shares[id] = nil }
        used += (share?.size ?? 0) - (old?.size ?? 0)
        unallocated += (share?.unallocated ?? 0) - (old?.unallocated ?? 0)
    }
}

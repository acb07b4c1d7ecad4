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

    /// Promises room for an upload of `size` bytes, in addition to those that it has.
    /// - Parameter free: bytes that the disk has free.
    mutating func reserve(
        _ id: CommandID, size: Int64, free: Int64, minFree: Int64, quota: Int64?
    ) throws(Refusal) {
        let old = shares[id] ?? Share(size: 0, unallocated: 0)
        let growth = size - old.size
        guard growth > 0 else { return }
        if let quota, used + growth > quota { throw .quota(available: max(quota - used, 0)) }
        let available = free - unallocated - minFree
        guard growth <= available else { throw .disk(available: max(available, 0)) }
        set(id, Share(size: size, unallocated: old.unallocated + growth))
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

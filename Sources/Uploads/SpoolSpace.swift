internal import Commands
internal import Host
internal import Store
internal import UploadSpool

/// The room in the spool that uploads have, and the part of it that each token has. Pure.
///
/// Room is taken in steps behind the bytes that arrive. A creation takes none, so that a client without bytes keeps no room
/// from others.
struct SpoolSpace: Sendable, Equatable {
    /// Bytes of one upload.
    private struct Share: Equatable {
        /// Those that count towards the quota.
        var size: Int64 = 0
        /// Those of them for which the disk has not set blocks aside.
        var unallocated: Int64 = 0
        /// Nil where the door asks for no token.
        var account: Account?
        /// Whether it takes bytes.
        var isOpen = true
    }

    /// The token whose share an upload takes.
    struct Account: Sendable, Equatable {
        /// The owner whose share it is: of a grant, its maker. Many grants have the share of one token.
        var owner: String
        /// The grant, where it has a bound of its own.
        var grant: Grant?

        struct Grant: Sendable, Equatable {
            var id: String
            var maxBytes: Int64
        }

        init(owner: String) { self.owner = owner }

        /// Nil where the door asks for no token.
        init?(_ facts: UploadFacts) {
            guard let token = facts.token else { return nil }
            owner = facts.grant?.maker ?? token
            grant = facts.grant?.maxBytes.map { Grant(id: token, maxBytes: $0) }
        }
    }

    /// The room that uploads may take now.
    struct Room: Sendable, Equatable {
        /// That the quota leaves; nil without one.
        var quota: Int64?
        /// That the disk leaves.
        var disk: Int64

        var bytes: Int64 { max(min(quota ?? .max, disk), 0) }
    }

    private var shares: [CommandID: Share] = [:]
    private var tokens: [String: TokenShare] = [:]
    /// Bytes of grants that have a bound.
    private var grants: [String: Int64] = [:]
    /// Bytes of all uploads in the spool.
    private(set) var used: Int64 = 0
    /// Promised bytes that the free room of the disk still contains.
    private(set) var unallocated: Int64 = 0

    enum Refusal: Error, Equatable {
        /// - Parameter available: bytes.
        case quota(available: Int64)
        case disk(available: Int64)
        case token(available: Int64)
        case grant(available: Int64)
        /// The token has as many open uploads as it may have.
        case openUploads(max: Int)
        /// The token has made as many uploads without bytes within a minute as it may make.
        case creations(max: Int, wait: Duration)
    }

    private static let firstStep: Int64 = 1 << 20
    private static let maxStep: Int64 = 64 << 20

    /// - Parameter free: bytes that the disk has free.
    func room(free: Int64, _ limits: UploadLimits) -> Room {
        Room(quota: limits.quota.map { $0 - used }, disk: free - unallocated - limits.minFree)
    }

    /// Checks that an upload would find room now, and takes none.
    func check(_ length: Int64, _ account: Account?, free: Int64, _ limits: UploadLimits) throws(Refusal) {
        let room = room(free: free, limits)
        // Not even an empty upload is taken where others are refused.
        let needed = max(length, 1)
        if let quota = room.quota, needed > quota { throw .quota(available: max(quota, 0)) }
        guard needed <= room.disk else { throw .disk(available: max(room.disk, 0)) }
        try checkShare(needed, account, room, limits)
    }

    /// Counts an upload that is created.
    mutating func open(
        _ id: CommandID, _ account: Account?, _ limits: UploadLimits, now: MonotonicTime
    ) throws(Refusal) {
        if let account { try tokens[account.owner, default: TokenShare()].create(limits, now: now) }
        set(id, Share(account: account))
    }

    /// Takes room for bytes that arrive, and for some after them.
    /// - Parameters:
    ///   - end: the bytes that the upload needs now.
    ///   - limit: the bytes that it may have. It gets as many beyond `end` as it has before, at most 64 MiB, and at most an
    ///     eighth of the room, so that several uploads find some in a small spool.
    ///   - free: bytes that the disk has free.
    /// - Returns: the size that it had before.
    mutating func reserve(
        _ id: CommandID, to end: Int64, limit: Int64, free: Int64, _ limits: UploadLimits
    ) throws(Refusal) -> Int64 {
        let old = shares[id] ?? Share()
        let needed = end - old.size
        guard needed > 0 else { return old.size }
        let room = room(free: free, limits)
        if let quota = room.quota, needed > quota { throw .quota(available: max(quota, 0)) }
        guard needed <= room.disk else { throw .disk(available: max(room.disk, 0)) }
        try checkShare(needed, old.account, room, limits)
        let own = available(old.account, room, limits)
        let step = min(max(end, Self.firstStep), Self.maxStep)
        let wanted = min(max(limit, end), end + step) - old.size
        let growth = max(needed, min(wanted, min(room.bytes, own) / 8))
        if old.size == 0, let account = old.account { tokens[account.owner]?.broughtBytes() }
        var next = old
        next.size += growth
        next.unallocated += growth
        set(id, next)
        return old.size
    }

    /// Gives room back that was taken last: the disk does not have it.
    mutating func shrink(_ id: CommandID, to size: Int64) {
        guard var share = shares[id], share.size > size else { return }
        share.unallocated = max(share.unallocated - (share.size - size), 0)
        share.size = size
        set(id, share)
    }

    /// An upload that is there already, with its bytes.
    mutating func add(_ id: CommandID, size: Int64, _ account: Account?, isOpen: Bool) {
        set(id, Share(size: size, account: account, isOpen: isOpen))
    }

    /// The disk has set blocks aside for all room of the upload, or has the bytes themselves.
    mutating func allocated(_ id: CommandID) {
        guard var share = shares[id] else { return }
        share.unallocated = 0
        set(id, share)
    }

    /// The size that a complete upload has.
    mutating func settle(_ id: CommandID, size: Int64) {
        let old = shares[id]
        if old?.size == 0, let account = old?.account { tokens[account.owner]?.broughtBytes() }
        set(id, Share(size: size, account: old?.account, isOpen: false))
    }

    mutating func release(_ id: CommandID) { set(id, nil) }

    /// The uploads that are counted.
    var ids: [CommandID] { Array(shares.keys) }

    /// Whether an upload that is counted takes no more bytes.
    func isComplete(_ id: CommandID) -> Bool { shares[id].map { !$0.isOpen } ?? false }

    func size(of id: CommandID) -> Int64 { shares[id]?.size ?? 0 }

    private func checkShare(
        _ needed: Int64, _ account: Account?, _ room: Room, _ limits: UploadLimits
    ) throws(Refusal) {
        guard let account else { return }
        let own = available(toToken: account, room, limits)
        guard needed <= own else { throw .token(available: max(own, 0)) }
        if let own = available(toGrant: account), needed > own { throw .grant(available: max(own, 0)) }
    }

    /// Bytes that the uploads of an account may take now.
    private func available(_ account: Account?, _ room: Room, _ limits: UploadLimits) -> Int64 {
        account.map { min(available(toToken: $0, room, limits), available(toGrant: $0) ?? .max) } ?? .max
    }

    private func available(toToken account: Account, _ room: Room, _ limits: UploadLimits) -> Int64 {
        // A tenth of the room stays for other tokens.
        let quota = limits.tokenQuota ?? (used + room.bytes) / 10 * 9
        return quota - (tokens[account.owner]?.bytes ?? 0)
    }

    private func available(toGrant account: Account) -> Int64? {
        account.grant.map { $0.maxBytes - (grants[$0.id] ?? 0) }
    }

    private mutating func set(_ id: CommandID, _ share: Share?) {
        let old = shares[id]
        shares[id] = share
        used += (share?.size ?? 0) - (old?.size ?? 0)
        unallocated += (share?.unallocated ?? 0) - (old?.unallocated ?? 0)
        for (share, sign) in [(old, -1), (share, 1)] {
            guard let share, let account = share.account else { continue }
            tokens[account.owner, default: TokenShare()].bytes += Int64(sign) * share.size
            if share.isOpen { tokens[account.owner, default: TokenShare()].open += sign }
            if let grant = account.grant { grants[grant.id, default: 0] += Int64(sign) * share.size }
        }
        guard let account = old?.account else { return }
        if tokens[account.owner]?.isEmpty == true { tokens[account.owner] = nil }
        if let grant = account.grant, grants[grant.id] == 0 { grants[grant.id] = nil }
    }
}

/// The room and the number of the uploads of one token, which others do not have. Pure.
struct TokenShare: Sendable, Equatable {
    /// In the spool.
    var bytes: Int64 = 0
    /// Uploads that take bytes.
    var open = 0
    /// Creations of the minute from ``minute`` on that have brought no bytes yet.
    private var creations = 0
    private var minute: MonotonicTime?

    private static let minuteLength: Duration = .seconds(60)

    /// Counts a creation.
    mutating func create(_ limits: UploadLimits, now: MonotonicTime) throws(SpoolSpace.Refusal) {
        guard open < limits.maxTokenUploads else { throw .openUploads(max: limits.maxTokenUploads) }
        let begun = minute.flatMap { now - $0 < Self.minuteLength ? $0 : nil }
        if begun == nil { (minute, creations) = (now, 0) }
        guard creations < limits.maxTokenCreations else {
            throw .creations(max: limits.maxTokenCreations, wait: Self.minuteLength - (now - (begun ?? now)))
        }
        creations += 1
    }

    /// An upload has its first bytes: its creation was meant.
    mutating func broughtBytes() { creations = max(creations - 1, 0) }

    /// Whether nothing of it must be remembered.
    var isEmpty: Bool { bytes == 0 && open == 0 && creations == 0 }
}

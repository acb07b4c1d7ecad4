package import Commands
internal import Host

/// All links and the host's uplinks above them: which commands may go, and how much each transfer may send.
/// Pure: it is told the time and never asks for it.
///
/// The calls of its owner, on one thread:
/// ```
/// network.report(worker:transfers:counters:now:)      each report of a worker, 4 times a second
/// network.announce(id, to:qos:bytes:now:)             high quality is about to be offered: decisions at once
/// network.ended(id, to:outcome:now:)                  each end of an execution, read from its transition
/// network.routeChanged(destination, to:now:)          each change of a route in the kernel
/// network.setWaiting(_:for:now:)                      how many commands wait for a link
/// let decisions = network.tick(now:)                  4 times a second; publish, order, dispatch by them
/// ```
package struct NetworkController: Sendable {
    /// The last report of a worker.
    struct Worker: Sendable {
        var reportedAt: MonotonicTime
        var ids: Set<CommandID> = []
        var bytes: [CounterKey: Int64] = [:]
    }

    struct CounterKey: Hashable {
        var link: LinkKey
        var serviceClass: ServiceClass
    }

    /// A transfer of high quality that was offered and is in no report yet.
    struct AnnouncedTransfer: Sendable {
        var key: LinkKey
        var qos: QualityOfService
        /// Bytes that it will send; nil where unknown.
        var bytes: Int64?
        var announcedAt: MonotonicTime
    }

    package let policy: NetworkPolicy
    let tuning: ConcurrencyController.Tuning
    var jitter: Jitter

    // Links and destinations.
    package internal(set) var links = LinkTable()
    package internal(set) var circuitBreakers: [Destination: DestinationCircuitBreaker] = [:]
    var changedCircuitBreakers: Set<Destination> = []
    var overrides: [Destination: LinkOverride] = [:]
    var routes: [Destination: Route] = [:]
    /// Destinations whose route the kernel has not named yet. A lost uplink says nothing of them.
    var pendingRoutes: Set<Destination> = []
    /// Uplinks without a route, and why, by name.
    var lostUplinks: [String: LinkReason] = [:]
    /// Destinations that have answered, or taken bytes, for the first time or again.
    var proven: [Destination] = []
    /// Minutes after midnight, local time, for the hours of `background`. The caller sets it now and then.
    package var minuteOfDay = 0

    // Workers and their transfers.
    var workers: [Int64: Worker] = [:]
    var transfers: [CommandID: TrackedTransfer] = [:]
    var announced: [CommandID: AnnouncedTransfer] = [:]
    var waiting: [LinkKey: [QualityOfService: Int]] = [:]
    var snapshots: [LinkKey: LinkSnapshot] = [:]

    // The last decisions.
    var policyDecisions: [LinkKey: LinkPolicyDecision] = [:]
    var pacing: [LinkKey: [Pacing]] = [:]
    var published: [LinkKey: LinkLevel] = [:]
    var orders: [CommandID: TransferOrder] = [:]
    /// Since when a pause has lasted, by link and quality.
    var pausedSince: [LinkKey: [QualityOfService: MonotonicTime]] = [:]
    /// When low transfers of a link were cut last.
    var lastCuts: [LinkKey: MonotonicTime] = [:]
    /// How often transfers were cut that start over from 0.
    var restarts: [CommandID: Int] = [:]

    // Which links a tick looks at.
    var lastTick: MonotonicTime?
    /// Links on which something has happened since the last tick.
    var touched: Set<LinkKey> = []
    /// Links that had transfers lately, and until when each tick looks at them.
    var recentlyActive: [LinkKey: MonotonicTime] = [:]
    /// All links. Idle ones are looked at in turn.
    var ring = RoundRobinKeys<LinkKey>()
    /// Links that the last tick looked at.
    package internal(set) var examined: [LinkKey] = []
    var forgotten: [LinkKey] = []

    /// - Parameters:
    ///   - policy: validated.
    ///   - seed: of the jitter of probes.
    package init(
        policy: NetworkPolicy = NetworkPolicy(), tuning: ConcurrencyController.Tuning = .init(), seed: UInt64
    ) {
        self.policy = policy
        self.tuning = tuning
        jitter = Jitter(seed: seed)
    }

    /// Whether the link has transfers or commands that wait for it.
    package func isActive(_ key: LinkKey) -> Bool {
        snapshots[key]?.transfers.isEmpty == false || waiting[key] != nil
    }

    /// Removes a link and what was decided of it.
    mutating func remove(_ key: LinkKey) {
        links[key] = nil
        ring.remove(key)
        published[key] = nil
        policyDecisions[key] = nil
        pacing[key] = nil
        lastCuts[key] = nil
        pausedSince[key] = nil
        recentlyActive[key] = nil
    }
}

/// The links by their keys, each in a box of its own: a controller takes 1.7 kB, and a dictionary of them holds as much
/// again in empty places, twice while it grows. A copy of the table shares the boxes until one of them changes.
package struct LinkTable: Sendable {
    private final class Box: @unchecked Sendable {
        // Unchecked: the table changes a link only where no other table refers to its box.
        var link: LinkController?

        init(_ link: LinkController?) { self.link = link }
    }

    private var boxes: [LinkKey: Box] = [:]

    /// A copy: a view would share the boxes while the links are changed one by one, and each would be copied.
    package var keys: [LinkKey] { Array(boxes.keys) }
    package var count: Int { boxes.count }
    package var isEmpty: Bool { boxes.isEmpty }

    package subscript(key: LinkKey) -> LinkController? {
        _read {
            if let box = boxes[key] { yield box.link } else { yield nil }
        }
        _modify {
            guard let index = boxes.index(forKey: key) else {
                var link: LinkController?
                yield &link
                if let link { boxes[key] = Box(link) }
                return
            }
            if !isKnownUniquelyReferenced(&boxes.values[index]) { boxes.values[index] = Box(boxes.values[index].link) }
            let box = boxes.values[index]
            defer { if box.link == nil { boxes[key] = nil } }
            yield &box.link
        }
    }

    func containsKey(where isMeant: (LinkKey) -> Bool) -> Bool { boxes.keys.contains(where: isMeant) }

    /// Takes a link out, to be set again when it has changed.
    mutating func removeValue(forKey key: LinkKey) -> LinkController? { boxes.removeValue(forKey: key)?.link }
}

/// Keys that are visited in turn. To add, to remove and to take the next ones costs the same for any number
/// of keys. Pure.
struct RoundRobinKeys<Key: Hashable & Sendable>: Sendable {
    private var keys: [Key] = []
    private var positions: [Key: Int] = [:]
    private var cursor = 0

    mutating func insert(_ key: Key) {
        guard positions[key] == nil else { return }
        positions[key] = keys.count
        keys.append(key)
    }

    mutating func remove(_ key: Key) {
        guard let position = positions.removeValue(forKey: key), let last = keys.popLast() else { return }
        guard position < keys.count else { return }
        keys[position] = last
        positions[last] = position
    }

    mutating func next(_ maxCount: Int) -> ArraySlice<Key> {
        guard !keys.isEmpty else { return [] }
        if cursor >= keys.count { cursor = 0 }
        let end = min(cursor + maxCount, keys.count)
        defer { cursor = end }
        return keys[cursor..<end]
    }
}

/// Random numbers that spread probes in time (SplitMix64), repeatable from a seed.
package struct Jitter: Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// A number in 0..<1.
    package mutating func chance() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((mixed ^ (mixed >> 31)) >> 11) / 9_007_199_254_740_992
    }
}

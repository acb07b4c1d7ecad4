internal import Commands
internal import Host
internal import Store

/// The state that a starting coordinator finds in the store.
struct RecoveredState: Sendable {
    /// Of each shard, the newest transition.
    let newest: [Int64]
    private(set) var links: [String: String] = [:]
    private(set) var overrides: [String: String] = [:]
    private(set) var pauses: [String: String] = [:]
    private(set) var limits: [String: String] = [:]
    /// Of rate limits.
    private(set) var tokens: [String: String] = [:]
    /// Of workers that run, or died while no coordinator did.
    private(set) var sessions: [Session] = []
    /// In force at the start; nil where the clock of the store fits its contents.
    private(set) var clockHold: ClockHold?
    /// While commands waited.
    private(set) var clockJumps = ClockJumps()
    /// Why there are no settings: the first shard, which has them, is damaged. The work of the other shards
    /// goes on.
    private(set) var loss: StoreError?

    init(from store: any CommandStore) throws(StoreError) {
        let seqs = try store.lastTransitions().map { $0 ?? 0 }
        newest = seqs
        let times: [Timestamp?] = try store.mapShards(or: nil) { (shard: Int) throws(StoreError) -> Timestamp? in
            let events = try store.events(shard: shard, after: seqs[shard] - 1, limit: 1).events
            return events.last?.transition.at
        }
        clockHold = ClockHold(atStart: times.compactMap(\.self).max(), wall: store.clock.now(), now: .now)
        do throws(StoreError) {
            if clockHold == nil { clockHold = try store.clockHold() }
            clockJumps = ClockJumps(setting: try store.setting(SettingKey.clockJumps))
            links = try store.settings(prefix: SettingKey.linkPrefix)
            overrides = try store.settings(prefix: SettingKey.networkPrefix)
            pauses = try store.settings(prefix: SettingKey.pausePrefix)
            limits = try store.settings(prefix: SettingKey.limitPrefix)
            tokens = try store.settings(prefix: SettingKey.tokensPrefix)
            sessions = try store.sessions()
        } catch {
            guard error.code.makesShardUnusable else { throw error }
            loss = error
        }
    }
}

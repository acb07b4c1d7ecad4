internal import Commands
internal import Host
internal import NetworkControl
internal import Store

/// Follows the definitions of rate limits, and saves the states of those whose quota outlives a coordinator. Confined to
/// the loop.
final class RateLimitMonitor {
    private let environment: CoordinatorEnvironment
    private let dispatch: DispatchRunner
    /// A save is under way.
    private var isSaving = false

    /// Reaps and due times wait behind settings, so these wait for another writer no longer than this.
    private static let timeout: Duration = .seconds(1)

    init(_ environment: CoordinatorEnvironment, dispatch: DispatchRunner) {
        self.environment = environment
        self.dispatch = dispatch
    }

    // MARK: Definitions

    /// - Parameters:
    ///   - limits: the settings with the prefix ``SettingKey/limitPrefix``.
    ///   - overrides: those with ``SettingKey/networkPrefix``.
    ///   - tokens: those with ``SettingKey/tokensPrefix``.
    func set(limits: [String: String], overrides: [String: String], tokens: [String: String]) {
        var definitions: [RateLimits.Name: RateLimit] = [:]
        for (name, limit) in RateLimit.parse(limits) { definitions[.limit(name)] = limit }
        for (destination, limits) in environment.configuration.network.destinations {
            guard let starts = limits.starts else { continue }
            definitions[.destination(destination)] = RateLimit(starts: starts, burst: limits.burst)
        }
        for (destination, setting) in LinkOverrideSetting.parse(overrides) {
            guard let starts = setting.override.starts else { continue }
            definitions[.destination(destination)] = RateLimit(starts: starts, burst: setting.override.burst)
        }
        guard definitions != dispatch.dispatcher.rates.definitions else { return }
        dispatch.dispatcher.setRateLimits(
            definitions, saved: RateLimits.Name.savedStates(tokens), wallTime: environment.store.clock.now(), now: .now)
        dispatch.setNeeded()
    }

    func load() {
        environment.store.read("Rate limits cannot be read", isUrgent: true) { store throws(StoreError) in
            (
                try store.settings(prefix: SettingKey.limitPrefix),
                try store.settings(prefix: SettingKey.networkPrefix),
                try store.settings(prefix: SettingKey.tokensPrefix)
            )
        } then: { [self] limits, overrides, tokens in
            set(limits: limits, overrides: overrides, tokens: tokens)
        }
    }

    // MARK: States

    /// Saves what waits for it; call it 4 times a second.
    func run(now: MonotonicTime) {
        dispatch.dispatcher.rates.expireForgotten(now: now)
        guard !isSaving, !dispatch.dispatcher.locked.contains(0) else { return }
        let saves = dispatch.dispatcher.rateLimitsToSave(wallTime: environment.store.clock.now(), now: now)
        guard !saves.isEmpty else { return }
        isSaving = true
        write(saves) { [self] isSaved in
            isSaving = false
            let names = saves.map(\.name)
            if isSaved {
                dispatch.dispatcher.rates.wereSaved(names)
                dispatch.setNeeded()
            } else {
                dispatch.dispatcher.rates.wereNotSaved(names)
            }
        }
    }

    /// The coordinator ends: tokens that no start has used are kept for the next.
    func stop() {
        let saves = dispatch.dispatcher.rates.lastStates(wallTime: environment.store.clock.now(), now: .now)
        if !saves.isEmpty { write(saves) { _ in } }
    }

    private func write(_ saves: [RateLimits.SavedState], then: @escaping (_ isSaved: Bool) -> Void) {
        environment.store.write("The state of a rate limit cannot be recorded, and its commands wait") {
            store throws(StoreError) in
            try store.set(saves.map { ($0.name.settingKey, $0.state.json.text) }, timeout: Self.timeout)
        } then: { _ in
            then(true)
        } otherwise: { _ in
            then(false)
        }
    }
}

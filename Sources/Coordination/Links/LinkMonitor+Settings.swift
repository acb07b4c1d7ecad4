internal import Commands
internal import Host
internal import NetworkControl
internal import Store

/// Settings: what people set with `sluice network set`, and what the next coordinator should know of each
/// link.
extension LinkMonitor {
    /// A row of a link's setting that is to be written.
    struct LinkSettingUpdate: Sendable {
        var key: LinkKey
        /// Of what the row says (``LinkLog/isNews(_:of:isActive:now:)``).
        var signature: String
        var value: String
    }

    /// Reaps and due times wait behind the settings of links, so these wait for another writer no longer than
    /// this.
    private static let timeout: Duration = .seconds(1)
    /// Settings that are taken in at the start, and in each later round.
    private static let restoredAtStart = 1000
    static let restoredPerRound = 50

    // MARK: Overrides

    func loadOverrides() {
        environment.store.read("The overrides of links cannot be read", isUrgent: true) { store throws(StoreError) in
            try store.settings(prefix: SettingKey.networkPrefix)
        } then: { [self] settings in
            override(settings)
        }
    }

    /// Takes in what people have set with `sluice network set`.
    func override(_ settings: [String: String]) {
        let now = MonotonicTime.now
        let new = LinkOverrideSetting.parse(settings).mapValues(\.override)
        guard new != overrides else { return }
        for destination in Set(overrides.keys).union(new.keys) {
            dispatch.dispatcher.links.override(destination, new[destination] ?? LinkOverride(), now: now)
        }
        overrides = new
        decideSoon()
    }

    // MARK: Links

    /// Takes in what the last coordinator left: as much as takes no time now, and the rest in the next rounds of the
    /// loop. With 20,000 settings, the first command after a start waited for seconds.
    func restore(_ settings: [String: String]) {
        watchedAt = settings[SettingKey.linkWatched].flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
        unrestored = Array(settings)
        restoreSome(Self.restoredAtStart)
    }

    /// Takes in some of what is left.
    func restoreSome(_ maxCount: Int) {
        let (wall, now) = (environment.store.clock.now(), MonotonicTime.now)
        for (key, value) in unrestored.suffix(maxCount) {
            guard let link = StoredLink(setting: key, value: value, watchedAt: watchedAt, now: wall) else { continue }
            dispatch.dispatcher.links.restore(link.memory, of: link.key, now: now)
            log.offlineSince[link.key] = link.offlineSince
            log.known(link.key, link.signature, now: now)
            if let destination = link.key.destination, let circuitBreaker = link.circuitBreaker {
                dispatch.dispatcher.links.restore(circuitBreaker, of: destination, wall: wall, now: now)
            }
        }
        unrestored.removeLast(min(maxCount, unrestored.count))
    }

    /// - Returns: nil unless the setting of the link has to be written.
    func settingUpdate(
        of state: LinkState, isActive: Bool, _ controller: NetworkController, now: MonotonicTime
    ) -> LinkSettingUpdate? {
        let circuitBreaker = state.circuitBreaker?.map(clock())
        let signature = LinkLog.signature(
            state.level, isForced: state.isForced, circuitBreaker, hasRefusal: state.refusal != nil)
        // Update the stored setting once when a link goes idle; never create one for an idle link.
        guard
            isActive || state.level > .good || circuitBreaker != nil || state.isForced
                || log.differs(signature, of: state.key),
            log.isNews(signature, of: state.key, isActive: state.inFlight + state.highInFlight > 0, now: now)
        else { return nil }
        let value = StoredLink.setting(
            report(of: state, controller, withWaits: false, now: now), controller.history(of: state.key, now: now),
            now: environment.store.clock.now())
        return LinkSettingUpdate(key: state.key, signature: signature, value: value)
    }

    /// Writes all updates in one transaction: a network that goes down takes thousands of links with it.
    /// - Parameter isWatchedDue: write as well that a coordinator watches the links.
    func record(_ updates: [LinkSettingUpdate], isWatchedDue: Bool) {
        guard !updates.isEmpty || isWatchedDue else { return }
        environment.store.write("A link cannot be recorded") { store throws(StoreError) in
            try store.set(
                updates.map { (StoredLink.settingKey($0.key), $0.value) }
                    + [(SettingKey.linkWatched, "\(store.clock.now().milliseconds)")], timeout: Self.timeout)
        } otherwise: { [self] _ in
            let now = MonotonicTime.now
            for update in updates { log.failed(update.signature, of: update.key, now: now) }
        }
    }

    func removeSetting(of key: LinkKey) {
        let name = StoredLink.settingKey(key)
        environment.store.write("The setting of a link cannot be removed") { store throws(StoreError) in
            try store.set([(name, nil)], timeout: Self.timeout)
        }
    }
}

package import Commands
package import Host
internal import Store

/// The rate limits of starts: those that commands name, and `starts` of destinations. Pure.
///
/// A command is offered only where each limit that holds for it has a token. The token goes with the offer. It is
/// spent when the offer is claimed, and comes back when the store says that an offer which was forgotten is still
/// ready (``TokenBucket``).
package struct RateLimits: Sendable {
    package enum Name: Hashable, Sendable {
        /// By the name that commands give.
        case limit(String)
        /// `starts` of a destination.
        case destination(Destination)

        var destination: Destination? { if case .destination(let destination) = self { destination } else { nil } }
    }

    struct State: Sendable {
        var definition: RateLimit
        var bucket: TokenBucket
        /// When its state was saved last.
        var savedAt: MonotonicTime?
    }

    /// The tokens of an offer that was forgotten.
    private struct Forgotten: Sendable {
        var names: [Name]
        var at: MonotonicTime
    }

    var states: [Name: State] = [:]
    /// The destinations with `starts`.
    private(set) var destinations: Set<Destination> = []
    /// Commands in flight of each named limit, also of one that does not exist.
    private var inFlight: [String: Int] = [:]
    private var forgotten: [CommandID: Forgotten] = [:]

    /// Of the machine; nil where it is not known.
    let boot: String?
    /// A definition that comes later is of a new limit. The first ones are those of the coordinator before.
    private var hasDefinitions = false

    /// Tokens of an offer of which the store has said nothing after this time count as spent.
    private static let forgetTimeout: Duration = .seconds(60)

    /// - Parameter boot: of the machine: states that were saved in the same one are aged by the monotonic clock.
    package init(boot: String? = nil) { self.boot = boot }

    package var isEmpty: Bool { states.isEmpty }

    /// The definitions now.
    package var definitions: [Name: RateLimit] { states.mapValues(\.definition) }

    // MARK: Definitions

    /// Sets which limits exist. The tokens of one whose rate changes stay, up to the new burst.
    /// - Parameter saved: states that were saved before, for limits that are new here. A limit with a period of a minute or
    ///   more that has none has never started a command, so it begins with one token.
    package mutating func set(
        _ definitions: [Name: RateLimit], saved: [Name: TokenBucketState] = [:], wallTime: Timestamp,
        now: MonotonicTime
    ) {
        let moment = now.sinceBoot
        states = states.filter { definitions[$0.key] != nil }
        for (name, definition) in definitions {
            if var state = states[name] {
                guard state.definition != definition else { continue }
                state.definition = definition
                state.bucket.set(rate: definition.starts, burst: definition.burst, now: moment)
                states[name] = state
                continue
            }
            let bucket =
                saved[name].map {
                    TokenBucket(
                        rate: definition.starts, burst: definition.burst, restoring: $0, wallTime: wallTime,
                        boot: boot, now: moment)
                }
                ?? TokenBucket(
                    rate: definition.starts, burst: definition.burst,
                    isNew: hasDefinitions || definition.starts.isDurable, now: moment)
            states[name] = State(definition: definition, bucket: bucket)
        }
        hasDefinitions = true
        destinations = Set(definitions.keys.compactMap(\.destination))
    }

    // MARK: Asking

    /// Whether a limit holds for commands of a key.
    func pace(_ key: ReadyKey) -> Bool { Self.pace(key, destinations: destinations) }

    static func pace(_ key: ReadyKey, destinations: Set<Destination>) -> Bool {
        key.limit != nil || !destinations.isEmpty && destinations.contains(key.destination)
    }

    /// The limit that keeps commands of a key from starting; nil where they may start.
    func lacking(for key: ReadyKey, now: MonotonicTime) -> Name? {
        if let limit = key.limit, free(of: .limit(limit), now: now) == 0 { return .limit(limit) }
        if destinations.isEmpty || !destinations.contains(key.destination) { return nil }
        let name = Name.destination(key.destination)
        return free(of: name, now: now) == 0 ? name : nil
    }

    /// How many commands of a limit may start now. None where it does not exist: they wait until it does.
    func free(of name: Name, now: MonotonicTime) -> Int {
        guard let state = states[name], state.bucket.hasToken(now: now.sinceBoot) else { return 0 }
        return max(min(state.bucket.tokens(now: now.sinceBoot), slots(of: name, state)), 0)
    }

    /// How many commands of a key may start now. Only for a key that a limit holds for.
    func free(for key: ReadyKey, now: MonotonicTime) -> Int {
        names(of: key).map { free(of: $0, now: now) }.min() ?? 0
    }

    /// When a command of the limit may start; nil where something else decides: the end of another, a claim, or a save.
    func nextToken(of name: Name, now: MonotonicTime) -> MonotonicTime? {
        guard let state = states[name], slots(of: name, state) > 0 else { return nil }
        guard let wait = state.bucket.nextToken(now: now.sinceBoot) else { return nil }
        if wait == .zero { return state.bucket.hasToken(now: now.sinceBoot) ? now : nil }
        return now + wait
    }

    /// Commands that may run in addition to those in flight.
    private func slots(of name: Name, _ state: State) -> Int {
        guard let atOnce = state.definition.atOnce, case .limit(let limit) = name else { return .max }
        return atOnce - (inFlight[limit] ?? 0)
    }

    private func names(of key: ReadyKey) -> [Name] {
        var names: [Name] = []
        if let limit = key.limit { names.append(.limit(limit)) }
        if destinations.contains(key.destination) { names.append(.destination(key.destination)) }
        return names
    }

    // MARK: Tokens

    /// Takes a token of each limit that holds for an offer.
    /// - Precondition: ``lacking(for:now:)`` is nil.
    /// - Returns: the limits.
    mutating func take(for key: ReadyKey, now: MonotonicTime) -> [Name] {
        guard pace(key) else { return [] }
        return names(of: key).filter { states[$0]?.bucket.take(now: now.sinceBoot) ?? false }
    }

    /// The offer was claimed.
    mutating func confirm(_ names: [Name], now: MonotonicTime) {
        for name in names { states[name]?.bucket.confirm(now: now.sinceBoot) }
    }

    /// The offer is not awaited any more. It may have been claimed all the same, so its tokens come back only when the
    /// store says that the command is ready.
    mutating func forgot(_ id: CommandID, _ names: [Name], now: MonotonicTime) {
        forgotten[id] = Forgotten(names: names, at: now)
    }

    /// A claim of the command is known, or it is known not to be ready.
    mutating func wasClaimed(_ id: CommandID, now: MonotonicTime) {
        if forgotten.isEmpty { return }
        if let lost = forgotten.removeValue(forKey: id) { confirm(lost.names, now: now) }
    }

    /// The store says that these commands are ready.
    mutating func wereReady(_ commands: [ReadyCommand], now: MonotonicTime) {
        if forgotten.isEmpty { return }
        for command in commands {
            guard let lost = forgotten.removeValue(forKey: command.id) else { continue }
            for name in lost.names { states[name]?.bucket.giveBack(now: now.sinceBoot) }
        }
    }

    /// Call it now and then.
    mutating func expireForgotten(now: MonotonicTime) {
        if forgotten.isEmpty { return }
        for (id, lost) in forgotten where now - lost.at > Self.forgetTimeout { wasClaimed(id, now: now) }
    }

    // MARK: In flight

    mutating func began(_ limit: String) { inFlight.count(limit, by: 1) }
    mutating func ended(_ limit: String) { inFlight.count(limit, by: -1) }
}

extension MonotonicTime {
    /// The form in which ``TokenBucket`` takes a time.
    var sinceBoot: Duration { .nanoseconds(nanoseconds) }
}

/// The states of limits with a period of a minute or more, which outlive the coordinator.
extension RateLimits {
    /// A state that is to be written to a setting.
    package struct SavedState: Sendable, Equatable {
        package var name: Name
        package var state: TokenBucketState
    }

    /// Between two saves of a limit.
    private static let saveInterval: Duration = .seconds(1)
    /// A limit that no command has waited for in this time gives its reserve back.
    private static let idleTime: Duration = .seconds(10)

    /// The states to save now. Tell with ``wereSaved(_:)`` or ``wereNotSaved(_:)`` what became of them.
    /// - Parameter waiting: the commands that wait for a limit.
    package mutating func statesToSave(
        waiting: (Name) -> Int, wallTime: Timestamp, now: MonotonicTime
    ) -> [SavedState] {
        var saves: [SavedState] = []
        for (name, state) in states where state.definition.starts.isDurable {
            let age = state.savedAt.map { now - $0 }
            if let age, age < Self.saveInterval { continue }
            let count = waiting(name)
            if count > 0, state.bucket.needsSave(now: now.sinceBoot) {
                saves += save(name, starts: count, wallTime: wallTime, now: now)
                continue
            }
            let isIdle = count == 0 && state.bucket.reserve > 0 && age.map { $0 > Self.idleTime } ?? false
            // A save for the next token, if that comes soon, says the same, and would have to wait for this one.
            let isBehind =
                state.bucket.isBehind
                && (count == 0 || state.bucket.nextToken(now: now.sinceBoot).map { $0 > Self.saveInterval } ?? false)
            guard isIdle || isBehind else { continue }
            saves += save(name, starts: 0, wallTime: wallTime, now: now)
        }
        return saves
    }

    /// The states to save when the coordinator ends. No command starts after that.
    package mutating func lastStates(wallTime: Timestamp, now: MonotonicTime) -> [SavedState] {
        states.filter { $0.value.bucket.reserve > 0 || $0.value.bucket.isBehind }.keys.flatMap {
            save($0, starts: 0, wallTime: wallTime, now: now)
        }
    }

    package mutating func wereSaved(_ names: [Name]) { for name in names { states[name]?.bucket.stateWasSaved() } }
    package mutating func wereNotSaved(_ names: [Name]) {
        for name in names { states[name]?.bucket.stateWasNotSaved() }
    }

    private mutating func save(_ name: Name, starts: Int, wallTime: Timestamp, now: MonotonicTime) -> [SavedState] {
        guard var state = states[name]?.bucket.stateToSave(forStarts: starts, wallTime: wallTime, now: now.sinceBoot)
        else { return [] }
        if let boot { (state.boot, state.sinceBoot) = (boot, now.sinceBoot) }
        states[name]?.savedAt = now
        return [SavedState(name: name, state: state)]
    }
}

// MARK: Settings

extension RateLimits.Name {
    private static let limitTokens = SettingKey.tokens(ofLimit: "")
    private static let destinationTokens = "\(SettingKey.tokensPrefix)destination."

    /// Of the setting that has the state of its bucket.
    var settingKey: String {
        switch self {
        case .limit(let name): SettingKey.tokens(ofLimit: name)
        case .destination(let destination): SettingKey.tokens(of: destination)
        }
    }

    /// Nil for a key of another form.
    private init?(settingKey key: String) {
        if key.hasPrefix(Self.limitTokens) {
            self = .limit(String(key.dropFirst(Self.limitTokens.count)))
        } else if key.hasPrefix(Self.destinationTokens),
            let destination = Destination(key.dropFirst(Self.destinationTokens.count))
        {
            self = .destination(destination)
        } else {
            return nil
        }
    }

    /// Reads the saved states. One of another form is left out.
    static func savedStates(_ settings: [String: String]) -> [Self: TokenBucketState] {
        var states: [Self: TokenBucketState] = [:]
        for (key, value) in settings {
            guard let name = Self(settingKey: key), let json = try? JSONValue(parsing: value.utf8),
                let state = TokenBucketState(json)
            else { continue }
            states[name] = state
        }
        return states
    }
}

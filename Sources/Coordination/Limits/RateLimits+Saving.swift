package import Commands
package import Host
internal import Store

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

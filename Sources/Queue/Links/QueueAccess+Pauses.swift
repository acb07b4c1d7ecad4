internal import Commands
package import NetworkControl
package import Store
internal import Wire

/// Pauses of people: nothing new begins; running commands continue.
extension QueueAccess {
    /// Pauses, in one transaction. It acts at once.
    /// - Returns: the pause that holds, and whether it is new: an earlier one of the same scope keeps its time.
    package func pause(_ pause: Pause) throws(StoreError) -> (pause: Pause, isNew: Bool) {
        var since = pause.since
        var isNew = false
        try store.update(pause.key) { stored in
            isNew = stored == nil
            since = stored ?? pause.since
            return since
        }
        if isNew { hint(.settingsChanged, []) }
        return (Pause(qos: pause.qos, destination: pause.destination, since: since), isNew)
    }

    /// Ends pauses, in one transaction.
    /// - Parameter scope: of the pause that ends; its time does not count. Nil: every pause.
    /// - Returns: those that have ended.
    package func resume(_ scope: Pause?) throws(StoreError) -> [Pause] {
        let stored = Pause.parse(try store.settings(prefix: SettingKey.pausePrefix))
        let ended = stored.filter { scope == nil || $0.key == scope?.key }
        guard !ended.isEmpty else { return [] }
        try store.set(ended.map { ($0.key, nil) }, timeout: WriteTimeout.foreground)
        hint(.settingsChanged, [])
        return ended
    }

    /// Tells the coordinator once more that settings have changed: a hint may be lost, and the next sweep takes 5 s.
    package func remindOfSettings() { hint(.settingsChanged, []) }
}

extension QueueAccess {
    /// The number of commands under a pause that living workers hold. Those of a dead worker do not run.
    package func running(under pause: Pause) throws(StoreError) -> Int {
        let alive = Set(try store.sessions().filter { isAlive($0) }.map(\.epoch))
        let claimed = try store.claimed()
        return claimed.joined().count { row in
            alive.contains(row.epoch) && (pause.qos ?? row.qos) == row.qos
                && (pause.destination ?? row.destination) == row.destination
        }
    }
}

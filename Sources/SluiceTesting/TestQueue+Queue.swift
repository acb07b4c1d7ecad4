internal import Commands
internal import Coordination
internal import Store
internal import Wire

/// The commands that are ready, and the times at which something is due.
extension TestQueue {
    /// Lets everything happen whose time has come: ends of waits, deadlines, schedules, and effects that are still owed.
    func promote() throws(SluiceError) {
        let hasRequests = try stored { () throws(StoreError) in try coordinator.settleDue() }
        if hasRequests { running.cancelRequested() }
        try publish()
    }

    /// The ready command that runs next. The network and pauses hold theirs.
    func nextReady() throws(SluiceError) -> ReadyCommand? {
        let (waits, now) = (withState { $0.waits }, clock.now())
        return try stored { () throws(StoreError) in
            try coordinator.nextReady(isOffline: { isOffline($0) }, waits: { waits.holds($0, now: now) })
        }
    }

    func isOffline(_ destination: Destination) -> Bool {
        withState { state in
            destination != .none && (state.isAllOffline || state.offline.contains(destination))
        }
    }

    /// The next time at which something happens by itself; nil where nothing waits for a time.
    func nextDue() throws(SluiceError) -> Timestamp? {
        let now = clock.now()
        let due = try stored { () throws(StoreError) in try coordinator.nextDue(after: now) }
        return [due, withState { $0.waits.next(after: now) }].compactMap { $0 }.min()
    }

    /// Tells the client of the transitions since the last call, as the coordinator does.
    func publish() throws(SluiceError) {
        while true {
            let after = withState { $0.published }
            let events = try stored { () throws(StoreError) in try coordinator.events(after: after) }
            guard let last = events.last else { return }
            // Two tasks of a test may call at once.
            let isFirst = withState { state in
                defer { state.published = max(state.published, last.transition.seq) }
                return state.published == after
            }
            guard isFirst else { continue }
            for event in events {
                var writer = JSONWriter()
                Event.status(event, to: &writer)
                client.deliver(writer.bytes)
            }
        }
    }
}

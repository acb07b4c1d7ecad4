internal import Commands
internal import Store

/// Puts schedules into a store.
struct ScheduleWriter {
    enum Change: String {
        case created, changed, unchanged
    }

    let store: SQLiteStore
    private var builder: ScheduleBuilder

    init(store: SQLiteStore, data: DataOptions) {
        self.store = store
        builder = ScheduleBuilder(data: data)
    }

    /// - Throws: ``ExitError`` `data` for a body that its operation refuses, an unknown type, and a zone that this machine
    ///   does not have.
    mutating func prepare(_ put: SchedulePut, allowUnknown: Bool) async throws -> ScheduleAction {
        let definition = put.definition
        do throws(TimeZoneError) { _ = try TimeZoneDatabase.system.zone(named: definition.zone) } catch {
            throw ExitError(.data, "schedule “\(definition.name)”: \(error)")
        }
        let action = try await builder.action(of: definition)
        if !allowUnknown {
            let known = try store.types()
            for type in action.types.sorted() where !known.contains(type) {
                throw ExitError(
                    .data,
                    "schedule “\(definition.name)”: no worker runs “\(type)”; known types are "
                        + known.sorted().joined(separator: ", "))
            }
        }
        return action
    }

    /// Stores a schedule. One with the same text stays as it is.
    func put(_ put: SchedulePut, _ action: ScheduleAction, now: Timestamp = .now) throws(StoreError) -> Change {
        let timing = ScheduleTiming(put.definition, in: .system)
        var change = Change.unchanged
        try store.changeSchedule(put.definition.name) { old throws(StoreError) in
            guard let old else {
                change = .created
                return StoredSchedule(
                    definition: put.definition, action: action,
                    state: timing.firstState(now: now, paused: put.paused ?? false))
            }
            var new = old
            new.definition = put.definition
            new.action = action
            new.state = timing.state(old.state, replacing: old.definition, now: now)
            if let paused = put.paused, paused != old.state.paused {
                new.state = paused ? timing.paused(new.state) : timing.resumed(new.state, now: now)
            }
            change = new == old ? .unchanged : .changed
            return new
        }
        return change
    }
}

extension ScheduleAction {
    fileprivate var types: Set<String> {
        switch self {
        case .command(let scheduled): [scheduled.draft.type]
        case .flow(let flow): Set((flow.nodes.map(\.draft) + flow.callbacks.map(\.draft)).map(\.draft.type))
        }
    }
}

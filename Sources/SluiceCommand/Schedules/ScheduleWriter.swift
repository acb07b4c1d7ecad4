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
        let action = try await builder.checkedAction(of: definition)
        if !allowUnknown {
            let known = try store.types()
            for type in action.types.sorted() where !known.contains(type) {
                throw ExitError(
                    .data,
                    "schedule “\(definition.name)”: no worker runs “\(type)”; known types are "
                        + known.sorted().joined(separator: ", "))
            }
        }
        let limits = try store.rateLimits()
        for name in action.limits.sorted() where limits[name] == nil {
            let problem = StoreError.unknownLimit(name, known: Array(limits.keys)).message
            throw ExitError(.data, "schedule “\(definition.name)”: \(problem)")
        }
        return action
    }

    /// Checks all schedules of a file before one of them is stored.
    /// - Throws: as ``prepare(_:allowUnknown:)-(SchedulePut,_)``, with file and line.
    mutating func prepare(
        _ entries: [ScheduleEntry], allowUnknown: Bool
    ) async throws -> [(SchedulePut, ScheduleAction)] {
        var prepared: [(SchedulePut, ScheduleAction)] = []
        for entry in entries {
            let action: ScheduleAction
            do {
                action = try await prepare(entry.put, allowUnknown: allowUnknown)
            } catch {
                throw entry.placed(error)
            }
            prepared.append((entry.put, action))
        }
        return prepared
    }

    /// Stores a schedule. One with the same text stays as it is.
    /// - Parameter isConfigured: its text is that of `sluice.yaml`. It belongs to the writer that has changed its text last.
    static func put(
        _ put: SchedulePut, _ action: ScheduleAction, in store: SQLiteStore, isConfigured: Bool, now: Timestamp = .now
    ) throws(StoreError) -> Change {
        let timing = ScheduleTiming(put.definition, in: .system)
        var change = Change.unchanged
        try store.changeSchedule(put.definition.name) { old throws(StoreError) in
            guard let old else {
                change = .created
                var new = StoredSchedule(
                    definition: put.definition, action: action,
                    state: timing.firstState(now: now, paused: put.paused ?? false))
                new.isConfigured = isConfigured
                return new
            }
            var new = old
            new.definition = put.definition
            new.action = action
            if new != old { new.isConfigured = isConfigured }
            new.state = timing.state(old.state, replacing: old.definition, now: now)
            if let paused = put.paused, paused != old.state.paused {
                new.state = paused ? timing.paused(new.state) : timing.resumed(new.state, now: now)
            }
            change = new == old ? .unchanged : .changed
            return new
        }
        return change
    }

    func put(_ put: SchedulePut, _ action: ScheduleAction) throws(StoreError) -> Change {
        try Self.put(put, action, in: store, isConfigured: false)
    }
}

extension ScheduleAction {
    fileprivate var types: Set<String> { Set(drafts.map(\.type)) }
}

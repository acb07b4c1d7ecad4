internal import Commands
internal import Store

/// Checks schedules before they are put.
struct ScheduleCheck {
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
}

extension ScheduleAction {
    fileprivate var types: Set<String> { Set(drafts.map(\.type)) }
}

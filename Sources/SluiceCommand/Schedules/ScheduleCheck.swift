internal import Commands
internal import Queue

/// Checks schedules before they are put.
struct ScheduleCheck {
    let queue: QueueAccess
    private let builder: ScheduleBuilder

    init(queue: QueueAccess, data: DataOptions) {
        self.queue = queue
        builder = ScheduleBuilder(data)
    }

    /// - Throws: ``ExitError`` `data` for a body that its operation refuses, an unknown type, and a zone that this machine
    ///   does not have.
    func prepare(_ put: SchedulePut, allowUnknown: Bool) async throws -> ScheduleAction {
        let definition = put.definition
        let action = try await builder.action(of: definition)
        try queue.refuseUnknown(action, of: definition.name, allowUnknownTypes: allowUnknown)
        return action
    }

    /// Checks all schedules of a file before one of them is stored.
    /// - Throws: as ``prepare(_:allowUnknown:)-(SchedulePut,_)``, with file and line.
    func prepare(
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

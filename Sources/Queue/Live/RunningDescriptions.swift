package import Commands
package import Console
package import Store

/// The names and sizes of the commands that workers execute. Each command is read once, because workers are
/// read every second.
package struct RunningDescriptions {
    private struct Description {
        var name: String?
        var offset: Int64
        var total: Int64
    }

    private var known: [CommandID: Description] = [:]
    /// Commands of a worker that a screen can show.
    private static let maxShown = 200

    package init() {}

    /// Adds names, and sizes where no event told them.
    package mutating func describe(_ commands: inout [RunningCommand], _ store: any CommandStore) throws(StoreError) {
        for index in commands.indices.prefix(Self.maxShown) {
            let id = commands[index].id
            if known[id] == nil {
                let command = try store.command(id)
                let name = try store.payload(id).flatMap { CommandSubject(payload: $0)?.name }
                known[id] = Description(name: name, offset: command?.offset ?? 0, total: command?.total ?? 0)
            }
            guard let description = known[id] else { continue }
            commands[index].name = description.name
            if commands[index].progress.total == 0, description.total > 0 {
                commands[index].progress.total = description.total
                commands[index].progress.offset = max(commands[index].progress.offset, description.offset)
            }
        }
    }

    /// Forgets commands that no longer run.
    package mutating func keep(_ ids: Set<CommandID>) { known = known.filter { ids.contains($0.key) } }
}

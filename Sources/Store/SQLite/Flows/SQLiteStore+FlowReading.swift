package import Commands

extension SQLiteStore {
    package func flow(_ id: CommandID) throws(StoreError) -> FlowState? {
        try reading(id) { (reading, row) throws(StoreError) in try reading.flow(row) }
    }

    package func flowNodes(
        _ flow: CommandID, after position: Int64, limit: Int
    ) throws(StoreError) -> [FlowNodeState] {
        try reading(flow) { (reading, row) throws(StoreError) in
            try reading.nodes(of: row, after: position, limit: min(limit, 1000))
        } ?? []
    }

    package func dependencies(of id: CommandID, limit: Int) throws(StoreError) -> CommandDependencies? {
        let found = try reading(id) { (reading, row) throws(StoreError) in
            (try reading.dependencies(of: row, limit: limit), reading.remote)
        }
        guard var dependencies = found?.0 else { return nil }
        for (id, condition) in found?.1 ?? [] {
            guard let parent = try ifUsable({ () throws(StoreError) in try command(id) }) ?? nil else { continue }
            dependencies.parents.append(
                CommandDependencies.Parent(command: parent, name: nil, condition: condition))
        }
        return dependencies
    }

    package func orderingKey(of id: CommandID) throws(StoreError) -> OrderingKeyState? {
        try reading(id) { (reading, row) throws(StoreError) in try reading.orderingKey(of: row) }
    }

    package func parentResults(
        of id: CommandID, after position: Int64, limit: Int
    ) throws(StoreError) -> [ParentResult] {
        try reading(id) { (reading, row) throws(StoreError) in
            try reading.parentResults(of: row, after: position, limit: min(limit, 1000))
        } ?? []
    }

    /// Reads in one transaction. Nil where there is no such command, or where its shard has no relations.
    private func reading<Value: Sendable>(
        _ id: CommandID, _ body: (inout FlowReading<Connection>, StoredCommand) throws(StoreError) -> Value?
    ) throws(StoreError) -> Value? {
        try shard(of: id).use { connection throws(StoreError) in
            guard connection.version >= 3 else { return nil }
            try connection.execute("BEGIN")
            defer { connection.rollback() }
            guard let row = try connection.find(id) else { return nil }
            var reading = FlowReading(connection)
            return try body(&reading, row)
        }
    }
}

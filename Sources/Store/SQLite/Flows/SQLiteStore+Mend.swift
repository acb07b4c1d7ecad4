internal import Commands

extension SQLiteStore {
    package func mend(shard number: Int) throws(StoreError) -> ShardMend {
        guard try !relationProblems(shard: number).isEmpty else { return ShardMend() }
        return try shard(number).write { connection throws(StoreError) in
            var result = ShardMend()
            guard connection.version >= Schema.firstWithRelations else { return result }
            // Before any command changes: the transaction adds its own changes to the rows at its end.
            for status in CommandStatus.allCases {
                for qos in QualityOfService.allCases {
                    try connection.execute(
                        "INSERT OR IGNORE INTO counts VALUES (\(status.rawValue), \(qos.rawValue), 0)")
                }
            }
            for cell in try connection.wrongCounts() {
                result.changes.append("\(cell.name) were counted as \(cell.stored), and are \(cell.real) now")
                try connection.execute(
                    """
                    UPDATE counts SET n = \(cell.real)
                    WHERE status = \(cell.status.rawValue) AND qos = \(cell.qos.rawValue)
                    """)
            }
            var mend = RelationMend(connection, shard: number, now: clock.now())
            try mend.run()
            result.changes += mend.changes
            var check = RelationCheck(connection)
            try check.run()
            result.left = check.problems
            return result
        }
    }
}

/// A number of `counts` that is not that of the rows.
struct WrongCount {
    var status: CommandStatus
    var qos: QualityOfService
    var stored: Int
    var real: Int

    var name: String { "commands in status \(status.name) of quality \(qos.name)" }
}

extension Connection {
    /// Counts everything anew.
    /// - Returns: a sentence for each number that is wrong.
    func relationProblems() throws(StoreError) -> [String] {
        var problems: [String] = []
        for cell in try wrongCounts() {
            problems.append("\(cell.name) are counted as \(cell.stored), and are \(cell.real)")
        }
        var check = RelationCheck(self)
        try check.run()
        return problems + check.problems
    }

    fileprivate func wrongCounts() throws(StoreError) -> [WrongCount] {
        let stored = try counts()
        var real = CommandCounts()
        let statement = try Statement("SELECT status, qos, count(*) FROM command GROUP BY status, qos", sharing: self)
        while try statement.step() { real[try statement.status(0), try statement.qos(1)] = statement.int(2) }
        var wrong: [WrongCount] = []
        for status in CommandStatus.allCases {
            for qos in QualityOfService.allCases where stored[status, qos] != real[status, qos] {
                wrong.append(
                    WrongCount(status: status, qos: qos, stored: stored[status, qos], real: real[status, qos]))
            }
        }
        return wrong
    }
}

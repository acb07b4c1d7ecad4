extension SQLiteStore {
    package func debts() throws(StoreError) -> ShardDebts {
        let first = try compare()
        return first.isEmpty ? first : first.intersection(try compare())
    }

    package func post(_ debts: ShardDebts) throws(StoreError) { try ShardComparison(self).post(debts.debts) }

    private func compare() throws(StoreError) -> ShardDebts {
        var comparison = ShardComparison(self)
        try comparison.run()
        return comparison.result
    }
}

extension SQLiteStore: ShardAccess {
    func read<Value>(
        shard number: Int, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        try ifUsable { () throws(StoreError) in
            try shard(number).withOwnConnection { connection throws(StoreError) in try connection.snapshot(body) }
        }
    }

    func write(shard number: Int, _ body: (Connection) throws(StoreError) -> Void) throws(StoreError) {
        try shard(number).write { connection throws(StoreError) in try body(connection) }
    }
}

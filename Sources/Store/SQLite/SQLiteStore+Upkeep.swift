internal import Commands

extension SQLiteStore {
    package func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError) {
        try shards[0].write(timeout: timeout) { connection throws(StoreError) in
            for (key, value) in settings {
                let statement = try connection.statement(value == nil ? .removeSetting : .setSetting)
                statement.bind(key, at: 1)
                if let value { statement.bind(value, at: 2) }
                try statement.run()
            }
        }
    }

    package func update(
        _ key: String, timeout: Duration, _ change: (String?) -> String?
    ) throws(StoreError) {
        try shards[0].write(timeout: timeout) { connection throws(StoreError) in
            let before = try connection.setting(key)
            let after = change(before)
            guard after != before else { return }
            let statement = try connection.statement(after == nil ? .removeSetting : .setSetting)
            statement.bind(key, at: 1)
            if let after { statement.bind(after, at: 2) }
            try statement.run()
        }
    }

    package func setting(_ key: String) throws(StoreError) -> String? {
        try shards[0].use { connection throws(StoreError) in try connection.setting(key) }
    }

    package func settings(prefix: String) throws(StoreError) -> [String: String] {
        try shards[0].use { connection throws(StoreError) in
            let statement = try connection.statement(.setting)
            statement.bind(prefix, at: 1)
            var settings: [String: String] = [:]
            while try statement.step() { settings[statement.text(0)] = statement.text(1) }
            return settings
        }
    }

    /// - Precondition: the caller holds `run/checkpoint.lock`.
    package func checkpoint(shard: Int) throws(StoreError) -> Int64 { try self.shard(shard).checkpoint() }

    package func walSize(shard: Int) -> Int64 { shards.indices.contains(shard) ? shards[shard].walSize : 0 }

    package func integrityCheck(shard: Int) throws(StoreError) -> [String] {
        try self.shard(shard).withOwnConnection { connection throws(StoreError) in try connection.integrityCheck() }
    }
}

extension Connection {
    fileprivate func setting(_ key: String) throws(StoreError) -> String? {
        let statement = try statement(.settingOf)
        defer { statement.reset() }
        statement.bind(key, at: 1)
        return try statement.step() ? statement.text(0) : nil
    }

    func integrityCheck() throws(StoreError) -> [String] {
        let statement = try Statement("PRAGMA integrity_check", sharing: self)
        var lines: [String] = []
        while try statement.step() { lines.append(statement.text(0)) }
        return lines == ["ok"] ? [] : lines
    }
}

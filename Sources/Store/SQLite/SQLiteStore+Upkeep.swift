internal import Commands

extension SQLiteStore {
    package func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError) {
        try shards[0].write(timeout: timeout) { connection throws(StoreError) in
            for (key, value) in settings { try connection.set(key, value) }
        }
        if settings.contains(where: { $0.key == SettingKey.clockHold }) { clockTrust.readAgain() }
    }

    package func update(
        _ key: String, timeout: Duration, _ change: (String?) -> String?
    ) throws(StoreError) {
        try shards[0].write(timeout: timeout) { connection throws(StoreError) in
            let before = try connection.setting(key)
            let after = change(before)
            if after != before { try connection.set(key, after) }
        }
    }

    package func setting(_ key: String) throws(StoreError) -> String? {
        try shards[0].use { connection throws(StoreError) in try connection.setting(key) }
    }

    package func settings(prefix: String) throws(StoreError) -> [String: String] {
        try shards[0].use { connection throws(StoreError) in
            let statement = try connection.statement(.setting, prefix)
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
    func setting(_ key: String) throws(StoreError) -> String? {
        try statement(.settingOf, key).first { $0.text(0) }
    }

    /// - Parameter value: nil removes the setting.
    fileprivate func set(_ key: String, _ value: String?) throws(StoreError) {
        if let value {
            try statement(.setSetting, key, value).run()
        } else {
            try statement(.removeSetting, key).run()
        }
    }

    func integrityCheck() throws(StoreError) -> [String] {
        let lines = try Statement("PRAGMA integrity_check", sharing: self).rows { $0.text(0) }
        return lines == ["ok"] ? [] : lines
    }
}

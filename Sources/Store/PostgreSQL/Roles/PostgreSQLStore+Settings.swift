internal import Commands

extension PostgreSQLStore {
    private static let prefixed = PostgreSQLStatement(
        "settings", "SELECT key, value FROM setting WHERE starts_with(key, $1)")

    /// A write takes the lock of shard 0, so that ``update(_:timeout:_:)`` loses none.
    package func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError) {
        try untilKnown { _ throws(StoreError) in
            _ = try change([0], timeout: timeout) { change throws(StoreError) in
                for (key, value) in settings { try change.transaction.set(key, value) }
            }
        }
        if settings.contains(where: { $0.key == SettingKey.clockHold }) { clockTrust.readAgain() }
    }

    package func update(_ key: String, timeout: Duration, _ change: (String?) -> String?) throws(StoreError) {
        _ = try self.change([0], timeout: timeout) { shards throws(StoreError) in
            let before = try shards.transaction.setting(key)
            let after = change(before)
            if after != before { try shards.transaction.set(key, after) }
        }
    }

    package func setting(_ key: String) throws(StoreError) -> String? {
        try read { transaction throws(StoreError) in try transaction.setting(key) }
    }

    package func settings(prefix: String) throws(StoreError) -> [String: String] {
        let found = try read { transaction throws(StoreError) in
            try transaction.read(Self.prefixed, prefix).rows { row in (row[0] as String, row[1] as String) }
        }
        return Dictionary(uniqueKeysWithValues: found)
    }
}

extension PostgreSQLTransaction {
    private static let setting = PostgreSQLStatement("setting", "SELECT value FROM setting WHERE key = $1")
    private static let setSetting = PostgreSQLStatement(
        "set-setting",
        "INSERT INTO setting(key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
    private static let removeSetting = PostgreSQLStatement("remove-setting", "DELETE FROM setting WHERE key = $1")

    func setting(_ key: String) throws(StoreError) -> String? {
        try read(Self.setting, key).first { row in row[0] as String }
    }

    /// - Parameter value: nil removes the setting.
    fileprivate func set(_ key: String, _ value: String?) throws(StoreError) {
        if let value { try write(Self.setSetting, key, value) } else { try write(Self.removeSetting, key) }
    }
}

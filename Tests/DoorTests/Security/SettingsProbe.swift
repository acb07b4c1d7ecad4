import Store
import Synchronization

/// Counts the reads of settings, and fails where it is told to.
final class SettingsProbe: SettingStore {
    private let store: MemoryStore
    private let state = Mutex((reads: 0, error: StoreError?.none))

    init(_ store: MemoryStore) { self.store = store }

    var reads: Int { state.withLock { $0.reads } }
    func fail(_ error: StoreError?) { state.withLock { $0.error = error } }

    var shardCount: Int { store.shardCount }
    var clock: any StoreClock { store.clock }

    func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError) {
        try check()
        store.set(settings, timeout: timeout)
    }

    func update(_ key: String, timeout: Duration, _ change: (String?) -> String?) throws(StoreError) {
        try check()
        store.update(key, timeout: timeout, change)
    }

    func setting(_ key: String) throws(StoreError) -> String? {
        try check()
        return store.setting(key)
    }

    func settings(prefix: String) throws(StoreError) -> [String: String] {
        try check()
        state.withLock { $0.reads += 1 }
        return store.settings(prefix: prefix)
    }

    private func check() throws(StoreError) {
        if let error = state.withLock({ $0.error }) { throw error }
    }
}

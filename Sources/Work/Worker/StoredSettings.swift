package import Commands
internal import Operations
package import Store

/// The settings of a store, for operations.
package struct StoredSettings: SharedSettings {
    private let store: any CommandStore

    package init(_ store: any CommandStore) { self.store = store }

    package var now: Timestamp { store.clock.now() }

    package func value(of key: String) throws -> String? { try store.setting(key) }

    package func change(_ key: String, timeout: Duration, _ body: (String?) -> String?) throws {
        try store.update(key, timeout: timeout, body)
    }
}

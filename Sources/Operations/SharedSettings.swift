package import Commands

/// Settings of a data directory that all workers share, for an operation that remembers more than its executions do. All
/// calls block.
package protocol SharedSettings: Sendable {
    /// The time of the clock that all of them share, for times in settings.
    var now: Timestamp { get }
    /// The value of a setting; nil where there is none.
    func value(of key: String) throws -> String?
    /// Changes a setting in one transaction.
    /// - Parameters:
    ///   - timeout: how long another process may hold the write lock.
    ///   - body: gets the value, nil where there is none, and returns the one to store; nil removes the setting.
    func change(_ key: String, timeout: Duration, _ body: (String?) -> String?) throws
}

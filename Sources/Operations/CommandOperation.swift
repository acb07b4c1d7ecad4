public import Commands

/// The code that executes commands of one type. Bring your own: conform, register, run a worker.
///
/// The life of an execution: the worker claims the command; ``prepare(_:)`` runs if
/// ``preparesBeforeSending``; `sent` is committed; ``execute(_:)`` runs. The worker commits the result or the
/// failure; the operation never does.
public protocol CommandOperation: Sendable {
    /// The type of the commands that it executes: `[a-z0-9.-]+`.
    var type: String { get }

    /// Whether ``prepare(_:)`` has something to do before the first byte may leave. Default: false; then the
    /// commit of the claim sets `sent` too.
    var preparesBeforeSending: Bool { get }

    /// How producers that do not have this operation read its payloads. Default: ``PayloadRule/init(isIdempotent:destination:retryLimit:)``
    /// without arguments: not idempotent, without a destination.
    var rule: PayloadRule { get }

    /// Checks a payload when a command is submitted, and returns the facts that the command needs. Must be
    /// quick and must not touch the network. Default: what ``rule`` says of it.
    /// - Throws: ``PayloadError`` naming what is wrong.
    func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes

    /// Everything that must succeed before the first byte leaves: opening the source, checking that it has
    /// not changed.
    /// - Throws: ``CommandFailure``, which cannot be ambiguous yet.
    func prepare(_ execution: CommandExecution) async throws

    /// Does the work. Cancellation of its task means: stop at once, close connections, throw.
    /// - Returns: the command's result as JSON; nil for none.
    /// - Throws: ``CommandFailure``; `CancellationError` when it was stopped; any other error is charged as
    ///   the command's own.
    func execute(_ execution: CommandExecution) async throws -> [UInt8]?
}

extension CommandOperation {
    public var preparesBeforeSending: Bool { false }
    public var rule: PayloadRule { PayloadRule() }
    public func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        try rule.attributes(of: payload)
    }
    public func prepare(_ execution: CommandExecution) async throws {}
}

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

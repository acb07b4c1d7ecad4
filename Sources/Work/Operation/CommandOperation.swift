public import Commands

/// The code that executes commands of one type. Bring your own: conform, register, run a worker.
///
/// The life of an execution: the worker claims the command; ``prepare(_:)`` runs if ``preparesBeforeSending``; `sent` is
/// committed; ``execute(_:)`` runs. What it returns or throws is settled by the worker, never by the operation.
public protocol CommandOperation: Sendable {
    /// Which commands it executes: `[a-z0-9.-]+`.
    var type: String { get }

    /// Whether ``prepare(_:)`` has something to do before the first byte may leave. Default: false, and a command goes to
    /// `sent` in the commit of its claim.
    var preparesBeforeSending: Bool { get }

    /// Checks a payload when a command is submitted and tells what the command needs to know of it. Must be quick and
    /// must not touch the network.
    /// - Throws: ``PayloadError`` naming what is wrong.
    func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes

    /// Everything that must succeed before the first byte leaves: opening the source, checking that it has not changed.
    /// - Throws: ``CommandFailure``, which cannot be ambiguous yet.
    func prepare(_ execution: CommandExecution) async throws

    /// Does the work. Cancellation of its task means: stop at once, close connections, throw.
    /// - Returns: what is kept as the command's result, as JSON; nil for nothing.
    /// - Throws: ``CommandFailure``; `CancellationError` when it was stopped; any other error is charged as the command's own.
    func execute(_ execution: CommandExecution) async throws -> [UInt8]?
}

extension CommandOperation {
    public var preparesBeforeSending: Bool { false }
    public func prepare(_ execution: CommandExecution) async throws {}
}

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

/// What an operation reads in a payload at submit.
public struct PayloadAttributes: Sendable, Equatable {
    /// Whom the command talks to; ``Destination/none`` for nobody.
    public var destination: Destination
    /// May the command be executed again after an ambiguous end? A producer can say otherwise.
    public var idempotent: Bool
    /// Bytes in all; 0 when not known.
    public var total: Int64
    /// The payload to keep in place of the given one: with paths made absolute, or with what was seen of the source.
    public var payload: JSONValue?
    /// The value by which two submits under one unique key are equal, where ``payload`` also has parts that
    /// change while the work stays the same, such as an inode. Nil: the bytes of the stored payload decide.
    public var identity: JSONValue?

    public init(destination: Destination, idempotent: Bool, total: Int64 = 0, payload: JSONValue? = nil) {
        self.destination = destination
        self.idempotent = idempotent
        self.total = total
        self.payload = payload
    }
}

/// Why a payload is refused at submit.
public struct PayloadError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Problem: Sendable, Equatable {
        /// A key or value that the schema does not allow (exit code 65).
        case data
        /// A source that is missing, unreadable or no regular file (exit code 66).
        case source
        /// A source that cannot be opened now and may be later: no descriptors are left, or its disk failed (exit code 75).
        case passing
        /// A malformed URL or an unknown scheme (exit code 64).
        case usage
    }

    public var problem: Problem
    /// A sentence that names the key or the file.
    public var message: String

    public init(_ problem: Problem = .data, _ message: String) {
        self.problem = problem
        self.message = message
    }

    public var description: String { message }
}

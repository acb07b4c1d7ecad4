public import Commands
public import Operations

/// Does nothing for a time: `{"milliseconds": 0}`. It serves to measure the cost of the queue itself.
///
/// `milliseconds` is 0 to 86,400,000, a day. The default is 0.
public struct NoopOperation: CommandOperation {
    /// The type `noop`.
    public let type = CommandType.noop
    public var rule: PayloadRule { PayloadRule(isIdempotent: true) }

    /// A day. Longer delays are for `notBefore`.
    static let maxMilliseconds: Int64 = 86_400_000

    /// Makes the operation. It has no settings.
    public init() {}

    /// Checks the payload: an object with no member but `milliseconds`. The command is idempotent, and has no
    /// destination.
    /// - Throws: ``PayloadError`` with the problem `data` for any other payload.
    public func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        _ = try Self.milliseconds(payload)
        return PayloadAttributes(destination: .none, idempotent: true)
    }

    /// Waits for the time of the payload.
    /// - Returns: nil: a noop has no result.
    /// - Throws: ``CommandFailure`` with the fault `final` for a payload that cannot be read;
    ///   `CancellationError` when it was stopped.
    public func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let milliseconds: Int64
        do {
            milliseconds = try Self.milliseconds(try JSONValue(parsing: execution.payload))
        } catch {
            throw CommandFailure(.final, reason: "the payload of this noop cannot be read: \(error)")
        }
        if milliseconds > 0 { try await Task.sleep(for: .milliseconds(milliseconds)) }
        return nil
    }

    private static func milliseconds(_ payload: JSONValue) throws(PayloadError) -> Int64 {
        guard let members = payload.members else {
            throw PayloadError(.data, "the payload of a noop must be an object, not \(payload.kind)")
        }
        var milliseconds: Int64 = 0
        for member in members {
            guard member.name == "milliseconds" else {
                throw PayloadError(
                    .data, "unknown key “\(member.name)” in the payload of a noop; it has only “milliseconds”")
            }
            guard let value = member.value.integer, (0...maxMilliseconds).contains(value) else {
                throw PayloadError(
                    .data,
                    "“milliseconds” must be a whole number from 0 to \(maxMilliseconds), not \(member.value.text.prefix(40))"
                )
            }
            milliseconds = value
        }
        return milliseconds
    }
}

public import Commands
public import Work

/// Does nothing for a time: `{"milliseconds": 0}`. It serves to measure the cost of the queue itself.
public struct NoopOperation: CommandOperation {
    public let type = CommandType.noop

    /// A day. Longer delays are for `notBefore`.
    static let maxMilliseconds: Int64 = 86_400_000

    public init() {}

    public func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        _ = try Self.milliseconds(payload)
        return PayloadAttributes(destination: .none, idempotent: true)
    }

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
                throw PayloadError(.data, "“milliseconds” must be a whole number from 0 to \(maxMilliseconds)")
            }
            milliseconds = value
        }
        return milliseconds
    }
}

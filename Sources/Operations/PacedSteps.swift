internal import Host

/// Divides the bytes that an operation sends or receives into steps, at the pace that the coordinator sets for its
/// execution: a share of its link while more urgent work runs, or a person's maximum rate.
///
/// ```swift
/// var steps = PacedSteps(execution)
/// while offset < total {
///     let count = try await steps.next(64 << 10)
///     offset += try await send(count)
/// }
/// ```
public struct PacedSteps: Sendable {
    /// The interval at which a paused transfer checks its pace.
    private static let interval: Duration = .milliseconds(100)

    private let execution: CommandExecution
    private var bucket = TokenBucket()

    public init(_ execution: CommandExecution) { self.execution = execution }

    /// Waits until the pace permits more bytes, and takes them off it.
    /// - Parameter maxBytes: that the operation would send now, at least 1.
    /// - Returns: how many may go: 1…`maxBytes`.
    /// - Throws: `CancellationError` where the execution is stopped meanwhile.
    public mutating func next(_ maxBytes: Int) async throws -> Int {
        let maxBytes = max(maxBytes, 1)
        while let rate = execution.pace.bytesPerSecond {
            let available = bucket.available(rate: rate, now: .now)
            if rate > 0, available >= min(TokenBucket.portion, maxBytes) {
                let count = min(available, maxBytes)
                bucket.take(count)
                return count
            }
            execution.waitedForPace()
            let wait = bucket.wait(for: maxBytes, rate: rate) ?? Self.interval
            try await Task.sleep(for: min(wait, Self.interval))
        }
        return maxBytes
    }
}

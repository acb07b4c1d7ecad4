internal import Host
internal import Work

/// Divides the bytes of a copy into steps that its pace permits.
struct PacedSteps: Sendable {
    /// The interval at which a paused copy checks its pace.
    static let paceStep: Duration = .milliseconds(100)

    private var bucket = TokenBucket()

    /// Waits until the pace permits more bytes.
    /// - Returns: the bytes of the next step, at most `maxBytes`.
    mutating func allowance(_ maxBytes: Int, of execution: CommandExecution) async throws -> Int {
        while let rate = execution.pace.bytesPerSecond {
            let available = bucket.available(rate: rate, now: .now)
            if rate > 0, available >= min(TokenBucket.portion, maxBytes) { return min(available, maxBytes) }
            execution.waitedForPace()
            let wait = bucket.wait(for: maxBytes, rate: rate) ?? Self.paceStep
            try await Task.sleep(for: min(wait, Self.paceStep))
        }
        return maxBytes
    }

    /// Takes the bytes of a step off what the pace permits.
    mutating func take(_ bytes: Int, of execution: CommandExecution) {
        if execution.pace.bytesPerSecond != nil { bucket.take(bytes) }
    }
}

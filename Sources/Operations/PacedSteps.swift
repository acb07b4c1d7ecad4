internal import Commands
package import Host
internal import Synchronization

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
    private var bucket = ByteBucket()

    public init(_ execution: CommandExecution) { self.execution = execution }

    /// Waits until the pace permits more bytes, and takes them off it.
    /// - Parameter maxBytes: that the operation would send now, at least 1.
    /// - Returns: how many may go: 1…`maxBytes`.
    /// - Throws: `CancellationError` where the execution is stopped meanwhile.
    public mutating func next(_ maxBytes: Int) async throws -> Int {
        let maxBytes = max(maxBytes, 1)
        while let rate = execution.pace.bytesPerSecond {
            let available = bucket.available(rate: rate, now: .now)
            if rate > 0, available >= min(ByteBucket.portion, maxBytes) {
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

/// How fast one execution may send: set by the worker as the coordinator decides, obeyed by the operation.
package final class Pace: Sendable {
    private struct State {
        var bytesPerSecond: Int64?
        var watcher: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    package init(bytesPerSecond: Int64? = nil) { state = Mutex(State(bytesPerSecond: bytesPerSecond)) }

    /// Nil: as fast as it can. 0: not at all.
    package var bytesPerSecond: Int64? { state.withLock { $0.bytesPerSecond } }

    /// Calls `body`, on the thread that makes the change, when the pace changes. Nil ends the calls.
    package func whenChanged(_ body: (@Sendable () -> Void)?) { state.withLock { $0.watcher = body } }

    package func set(_ bytesPerSecond: Int64?) {
        let watcher = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.bytesPerSecond != bytesPerSecond else { return nil }
            state.bytesPerSecond = bytesPerSecond
            return state.watcher
        }
        watcher?()
    }
}

/// Lets bytes go at a rate, in small portions: bursts of a paced transfer would delay the urgent transfer
/// that it yields to. Pure.
package struct ByteBucket: Sendable {
    private var tokens = 0.0
    private var filledAt: MonotonicTime?

    /// The smallest number of bytes that is worth sending.
    package static let portion = 4096
    /// While nothing is sent, tokens for this time pile up, at most.
    package static let burst: Duration = .milliseconds(50)

    package init() {}

    /// Bytes that may go now; fewer than ``portion`` are not worth sending.
    /// - Parameter rate: bytes per second.
    package mutating func available(rate: Int64, now: MonotonicTime) -> Int {
        let rate = Double(max(rate, 0))
        if let filledAt { tokens += max(now - filledAt, .zero).seconds * rate }
        tokens = min(tokens, max(rate * Self.burst.seconds, Double(Self.portion)))
        filledAt = now
        return Int(tokens)
    }

    package mutating func take(_ bytes: Int) { tokens -= Double(bytes) }

    /// How long until `bytes`, or ``portion`` if that is fewer, may go; nil: never.
    package func wait(for bytes: Int, rate: Int64) -> Duration? {
        guard rate > 0 else { return nil }
        let missing = Double(min(bytes, Self.portion)) - tokens
        return missing <= 0 ? .zero : .seconds(missing / Double(rate)) + .nanoseconds(1)
    }
}

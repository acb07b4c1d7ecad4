internal import Commands
internal import Transfers

/// A request that was answered, and its answer.
struct FetchExchange: Sendable, Equatable {
    var asked: ConditionalRequest
    /// By the wall clock.
    var requestedAt: Timestamp
    /// When the head of the response arrived, by the wall clock.
    var respondedAt: Timestamp
    var head: ResponseHead
    /// Whether the whole body arrived. One that was cut off is not stored.
    var isComplete = true
    /// Length of the body.
    var bytes: Int64 = 0
    /// Of the body, in hexadecimal.
    var sha256 = ""
    var command: CommandID?
}

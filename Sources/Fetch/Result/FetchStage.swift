/// The `stage` of an event `response/<uuid>`.
enum FetchStage: String, Sendable, CaseIterable {
    /// A stored response is shown before the first byte of the request goes out.
    case stored
    /// A new response has arrived.
    case fresh
    /// The origin has confirmed the stored response.
    case notModified
    /// The stored response is the answer after a failure.
    case stale
    /// There is no answer.
    case failed
}

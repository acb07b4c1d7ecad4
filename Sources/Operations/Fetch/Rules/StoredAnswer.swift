internal import Commands

/// A stored response that may be shown.
struct StoredAnswer: Sendable, Equatable {
    var response: StoredResponse
    /// Nil while it is fresh.
    var staleBecause: StaleReason?
}

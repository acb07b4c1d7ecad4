internal import Commands

/// A stored response that may be shown.
struct StoredAnswer: Sendable, Equatable {
    var response: StoredResponse
    /// Nil while it is fresh.
    var staleBecause: StaleReason?

    /// Its origin permits to keep an error; it is one also when it comes from the store.
    var isError: Bool { response.status >= 400 }
}

internal import Door
internal import HTTPTypes

/// The searches that run at the same time: each may look at commands for half a second on a thread of its own.
actor SearchSlots {
    static let max = 8

    private var running = 0

    /// Runs `body` in a slot.
    /// - Throws: ``Problem`` 503 where none is free, and the errors of `body`.
    func run<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        guard running < Self.max else {
            throw Problem(
                .serviceUnavailable, "too-many-searches",
                "\(Self.max) searches run, which is the maximum; send the request again in a second.",
                fields: [.retryAfter: "1"])
        }
        running += 1
        defer { running -= 1 }
        return try await body()
    }
}

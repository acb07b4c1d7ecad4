internal import Host

/// A reading that takes time: it is made at most once in ``maxAge``, however many ask for it at the same time.
actor CachedReading<Value: Sendable> {
    private let maxAge: Duration
    private let read: @Sendable () async -> Value
    private var last: (value: Value, at: MonotonicTime)?
    private var running: Task<Value, Never>?

    /// - Parameters:
    ///   - maxAge: a reading is made again when the last one is older.
    ///   - read: it must not block its task's thread.
    init(maxAge: Duration, read: @escaping @Sendable () async -> Value) {
        self.maxAge = maxAge
        self.read = read
    }

    /// - Parameter timeout: how long to wait for a reading that is slow. It goes on, for later calls.
    /// - Returns: nil after the timeout.
    func value(within timeout: Duration) async -> Value? {
        if let last, MonotonicTime.now - last.at < maxAge { return last.value }
        let task = running ?? start()
        let (values, continuation) = AsyncStream<Value?>.makeStream()
        Task { continuation.yield(await task.value) }
        let timer = Task {
            try? await Task.sleep(for: timeout)
            continuation.yield(nil)
        }
        defer { timer.cancel() }
        return await values.first { _ in true } ?? nil
    }

    private func start() -> Task<Value, Never> {
        let task = Task {
            let value = await read()
            last = (value, .now)
            running = nil
            return value
        }
        running = task
        return task
    }
}

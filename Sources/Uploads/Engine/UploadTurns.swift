internal import Commands
internal import Synchronization

/// Lets one request at a time use an upload. A new request stops the one before: that one's client may be gone, and
/// a half-open connection would otherwise hold the upload until it times out.
actor UploadTurns {
    private struct Holder {
        let number: Int
        /// Nil: the request ends soon, and is waited for.
        let stop: (@Sendable () -> Void)?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private var holders: [CommandID: Holder] = [:]
    private var lastNumber = 0
    private let tookOver: @Sendable () -> Void

    /// - Parameter tookOver: called for each request that is stopped for another one.
    init(tookOver: @escaping @Sendable () -> Void = {}) { self.tookOver = tookOver }

    /// The number of uploads that a request uses.
    var count: Int { holders.count }

    /// Waits for the request before, which is stopped.
    /// - Parameter stop: called when another request waits for this one. It may be called more than once. Nil: this one
    ///   ends soon.
    /// - Returns: for ``end(_:_:)``.
    func begin(_ id: CommandID, stop: (@Sendable () -> Void)? = nil) async -> Int {
        while let holder = holders[id] {
            if let stop = holder.stop {
                // Of several requests that wait, the first has stopped it.
                if holder.waiters.isEmpty { tookOver() }
                stop()
            }
            await withCheckedContinuation { holders[id]?.waiters.append($0) }
        }
        return hold(id, stop)
    }

    /// As ``begin(_:stop:)``, without stopping another request.
    /// - Returns: nil where another request uses the upload.
    func beginIfFree(_ id: CommandID, stop: @escaping @Sendable () -> Void) -> Int? {
        holders[id] == nil ? hold(id, stop) : nil
    }

    private func hold(_ id: CommandID, _ stop: (@Sendable () -> Void)?) -> Int {
        lastNumber += 1
        holders[id] = Holder(number: lastNumber, stop: stop)
        return lastNumber
    }

    func end(_ id: CommandID, _ number: Int) {
        guard let holder = holders[id], holder.number == number else { return }
        holders[id] = nil
        for waiter in holder.waiters { waiter.resume() }
    }

    /// Stops every request.
    func stopAll() { for holder in holders.values { holder.stop?() } }
}

/// Cancels a task that may not have begun yet.
final class StopSignal: Sendable {
    private struct State {
        var isStopped = false
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    var isStopped: Bool { state.withLock { $0.isStopped } }

    func stop() {
        let cancel = state.withLock { state in
            state.isStopped = true
            return state.cancel
        }
        cancel?()
    }

    /// Sets the call that stops the task; it is called at once where the signal came before.
    func whenStopped(_ cancel: @escaping @Sendable () -> Void) {
        let isStopped = state.withLock { state in
            state.cancel = cancel
            return state.isStopped
        }
        if isStopped { cancel() }
    }
}

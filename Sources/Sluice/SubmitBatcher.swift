internal import Commands
internal import Store
internal import Synchronization
internal import Wire
internal import ZeroMQ

/// Where submissions wait for their commit.
///
/// One thread commits whatever waits as soon as the previous commit has returned, so that throughput rises with the
/// number of tasks that submit. The same thread sends the hint: it leaves without another hop.
actor SubmitBatcher {
    private struct Waiting {
        let drafts: [CommandDraft]
        let allowUnknownTypes: Bool
        let resume: @Sendable ([Result<Submission, StoreError>]) -> Void
    }

    private let loop: PollLoop
    private let store: any CommandStore
    private let endpoint: Endpoint
    private let context: Context
    private var hints: HintSender?
    private var isClosed = false
    private let waiting = Mutex<[Waiting]>([])

    /// Drafts after which a commit takes no other's along, and the most to submit at once: a commit of so many takes
    /// some 20 ms, for which everybody else waits.
    static let batch = 4096

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(store: any CommandStore, endpoint: Endpoint, context: Context) throws(ZeroMQError) {
        loop = try PollLoop(name: "sluice-submit")
        self.store = store
        self.endpoint = endpoint
        self.context = context
    }

    deinit {
        loop.stop()
    }

    /// Connects ahead of the first submission, so that its hint leaves at once.
    nonisolated func start() {
        loop.perform { self.assumeIsolated { $0.connect() } }
    }

    nonisolated func submit(
        _ drafts: [CommandDraft], allowUnknownTypes: Bool
    ) async -> [Result<Submission, StoreError>] {
        await withCheckedContinuation { continuation in
            let entry = Waiting(drafts: drafts, allowUnknownTypes: allowUnknownTypes) {
                continuation.resume(returning: $0)
            }
            let isFirst = waiting.withLock { waiting in
                waiting.append(entry)
                return waiting.count == 1
            }
            if isFirst { loop.perform { self.assumeIsolated { $0.commit() } } }
        }
    }

    nonisolated func send(_ kind: Hint.Kind, _ ids: [CommandID]) {
        loop.perform { self.assumeIsolated { $0.hint(kind, ids) } }
    }

    /// Sends what is left and ends the thread. What comes later is committed, and no hint tells of it.
    nonisolated func close() async {
        loop.perform { self.assumeIsolated { $0.end() } }
        loop.stop()
        await loop.stopped()
    }

    private func end() {
        isClosed = true
        hints = nil
    }

    private func commit() {
        let taken = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        var start = 0
        while start < taken.count {
            var end = start
            var count = 0
            let allowed = taken[start].allowUnknownTypes
            while end < taken.count, taken[end].allowUnknownTypes == allowed, end == start || count < Self.batch {
                count += taken[end].drafts.count
                end += 1
            }
            commit(taken[start..<end], allowUnknownTypes: allowed)
            start = end
        }
    }

    private func commit(_ taken: ArraySlice<Waiting>, allowUnknownTypes: Bool) {
        let drafts = taken.count == 1 ? taken[taken.startIndex].drafts : taken.flatMap(\.drafts)
        let now = Timestamp.now
        let results = store.submit(drafts, allowUnknownTypes: allowUnknownTypes, now: now)
        tell(drafts, results, now: now)
        var position = 0
        for entry in taken {
            entry.resume(Array(results[position..<position + entry.drafts.count]))
            position += entry.drafts.count
        }
    }

    private func tell(_ drafts: [CommandDraft], _ results: [Result<Submission, StoreError>], now: Timestamp) {
        let submissions = results.map { try? $0.get() }
        guard drafts.count <= Submitted.maxCount else { return hint(.ready, submissions.compactMap { $0?.id }) }
        let ready = zip(drafts, submissions).compactMap { draft, submission in
            submission.flatMap { draft.ready($0, now: now) }
        }
        guard !ready.isEmpty else { return }
        connect()
        hints?.send(.submitted(Submitted(ready)))
    }

    private func hint(_ kind: Hint.Kind, _ ids: [CommandID]) {
        guard !ids.isEmpty || kind == .settingsChanged else { return }
        connect()
        hints?.send(kind, ids)
    }

    private func connect() {
        // Nobody would close it, and the context ends with its last socket.
        guard !isClosed else { return }
        // Without a socket the coordinator's sweep finds what was submitted.
        if hints == nil { hints = try? HintSender(endpoint, context: context, loop: loop) }
    }
}

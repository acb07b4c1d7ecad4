internal import Commands
internal import Store
internal import Synchronization
internal import Wire
internal import ZeroMQ

/// Commits the submissions of concurrent tasks together.
///
/// One thread commits all waiting submissions as soon as the previous commit has returned, so that throughput
/// rises with the number of tasks that submit. The same thread sends the hint, without another hop.
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

    /// The maximum number of drafts of a submission, and the number after which a commit takes no further
    /// submission. Such a commit takes about 20 ms, in which other tasks wait.
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

    /// Sends waiting hints and ends the thread. Later submissions are committed without a hint.
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
        // A socket made after the end would never close, and the context ends with its last socket.
        guard !isClosed else { return }
        // Without a socket, the coordinator's sweep finds the commands.
        if hints == nil { hints = try? HintSender(endpoint, context: context, loop: loop) }
    }
}

internal import Commands
internal import Host
internal import Store
internal import Synchronization
internal import Wire
internal import ZeroMQ

/// Commits the submissions of concurrent tasks together.
///
/// One thread commits all waiting submissions as soon as the previous commit has returned, so that throughput
/// rises with the number of tasks that submit. The same thread sends the hint, without another hop.
///
/// A draft with a unique key can only go to one shard, and waits where another process keeps that shard locked. So the
/// drafts with keys of each shard have a thread of their own, and no other draft waits with them.
actor SubmitBatcher {
    private typealias Results = [Result<Submission, StoreError>]

    /// The drafts with unique keys of one shard.
    private struct Lane {
        let queue = SubmitQueue()
        let thread: BlockingThread
    }

    private let loop: PollLoop
    private let store: any CommandStore
    private let target: HintTarget
    private let clock: @Sendable () -> Timestamp
    private var hints: HintSender?
    private var isClosed = false
    private let queue = SubmitQueue()
    private let lanes = Mutex<[Int: Lane]>([:])

    /// The maximum number of drafts of a submission, and the number after which a commit takes no further
    /// submission. Such a commit takes about 20 ms, in which other tasks wait.
    static let batch = 4096

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter clock: the time of the submits.
    init(
        store: any CommandStore, hints target: HintTarget, clock: @escaping @Sendable () -> Timestamp = { .now }
    ) throws(ZeroMQError) {
        loop = try PollLoop(name: "sluice-submit")
        self.store = store
        self.target = target
        self.clock = clock
    }

    deinit {
        loop.stop()
        lanes.withLock { lanes in for lane in lanes.values { lane.thread.close() } }
    }

    /// Connects ahead of the first submission, so that its hint leaves at once.
    nonisolated func start() {
        loop.perform { self.assumeIsolated { $0.connect() } }
    }

    nonisolated func submit(
        _ drafts: [CommandDraft], allowUnknownTypes: Bool
    ) async -> [Result<Submission, StoreError>] {
        await withCheckedContinuation { continuation in
            submit(drafts, allowUnknownTypes: allowUnknownTypes) { continuation.resume(returning: $0) }
        }
    }

    private nonisolated func submit(
        _ drafts: [CommandDraft], allowUnknownTypes: Bool, then resume: @escaping @Sendable (Results) -> Void
    ) {
        let shards = drafts.map { store.router.shard(of: $0) }
        let first = shards.first ?? nil
        guard shards.contains(where: { $0 != first }) else {
            return add(.init(drafts: drafts, allowUnknownTypes: allowUnknownTypes, resume: resume), to: first)
        }
        let submission = DividedSubmission(count: drafts.count, resume: resume)
        for (shard, positions) in Dictionary(grouping: drafts.indices, by: { shards[$0] }) {
            let entry = SubmitQueue.Entry(drafts: positions.map { drafts[$0] }, allowUnknownTypes: allowUnknownTypes) {
                submission.add($0, at: positions)
            }
            add(entry, to: shard)
        }
    }

    /// - Parameter shard: nil where the drafts may go to any.
    private nonisolated func add(_ entry: SubmitQueue.Entry, to shard: Int?) {
        guard let shard else {
            if queue.add(entry) { loop.perform { self.assumeIsolated { $0.commit() } } }
            return
        }
        let lane = lanes.withLock { lanes in
            let lane = lanes[shard] ?? Lane(thread: BlockingThread(named: "submit-\(shard)"))
            lanes[shard] = lane
            return lane
        }
        guard lane.queue.add(entry) else { return }
        lane.thread.perform { [self] in
            lane.queue.commit(to: store, clock: clock, batch: Self.batch) { drafts, results, now in
                loop.perform { self.assumeIsolated { $0.tell(drafts, results, now: now) } }
            }
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
        queue.commit(to: store, clock: clock, batch: Self.batch) { drafts, results, now in
            tell(drafts, results, now: now)
        }
    }

    private func tell(_ drafts: [CommandDraft], _ results: Results, now: Timestamp) {
        let submissions = results.map { try? $0.get() }
        hint(.changed, submissions.flatMap { $0?.changed ?? [] })
        guard drafts.count <= Submitted.maxCount else { return hint(.ready, submissions.compactMap { $0?.id }) }
        let ready = zip(drafts, submissions).compactMap { draft, submission in
            submission.flatMap { draft.ready($0, now: now) }
        }
        guard !ready.isEmpty else { return }
        if case .process(let hint) = target { return hint(.ready, ready.map(\.id)) }
        // The message does not have the rate limits of commands, so the coordinator looks these up.
        hint(.ready, ready.filter { $0.limit != nil }.map(\.id))
        let unlimited = ready.filter { $0.limit == nil }
        guard !unlimited.isEmpty else { return }
        connect()
        hints?.send(.submitted(Submitted(unlimited)))
    }

    private func hint(_ kind: Hint.Kind, _ ids: [CommandID]) {
        guard !ids.isEmpty || kind == .settingsChanged else { return }
        if case .process(let hint) = target { return hint(kind, ids) }
        connect()
        hints?.send(kind, ids)
    }

    private func connect() {
        // A socket made after the end would never close, and the context ends with its last socket.
        guard !isClosed, case .socket(let endpoint, let context) = target else { return }
        // Without a socket, the coordinator's sweep finds the commands.
        if hints == nil { hints = try? HintSender(endpoint, context: context, loop: loop) }
    }
}

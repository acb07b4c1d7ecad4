internal import Commands
internal import Membership
internal import Store
internal import Synchronization
internal import Wire
internal import ZeroMQ

/// Commits the submissions of concurrent tasks together.
///
/// Drafts that may go to any shard are committed on the loop of the hints, so that a lone one and its hint need no other
/// thread. The store chooses their shards. A draft with a key can only go to one shard, and waits where another process
/// keeps that shard locked. So the drafts with keys of each commit group have a thread of their own, and no other draft
/// waits with them.
final class SubmitBatcher: Sendable {
    typealias Results = [Result<Submission, StoreError>]

    /// Drafts of one submission.
    private struct Entry: Sendable {
        var drafts: [CommandDraft]
        var allowUnknownTypes: Bool
        /// Takes the results, in the order of the drafts.
        var resume: @Sendable (Results) -> Void
    }

    /// The drafts of one commit.
    private struct Committed: Sendable {
        var drafts: [CommandDraft]
        var results: Results
        var now: Timestamp
    }

    private typealias Committer = GroupCommitter<Entry, Committed>

    private let loop: PollLoop
    private let store: any CommandStore
    private let hints: SubmitHints
    /// Of drafts that may go to any shard.
    private let committer: Committer
    /// Of drafts with keys, by the index of their ``CommitGroup``. Each is made when it is first needed.
    private let keyed = Mutex<[Int: Committer]>([:])

    /// The maximum number of drafts of a submission, and the number after which a commit takes no further
    /// submission. Such a commit takes about 20 ms, in which other tasks wait.
    static let batch = 4096

    init(store: any CommandStore, hints target: HintTarget) throws(ZeroMQError) {
        let loop = try PollLoop(name: "sluice-submit")
        let hints = SubmitHints(to: target, on: loop)
        self.loop = loop
        self.store = store
        self.hints = hints
        committer = Committer(
            named: loop.name, policy: .once, share: { Self.share(of: $0) }, on: { loop.perform($0) })
        start(committer) { committed in
            hints.assumeIsolated { $0.tell(committed.drafts, committed.results, now: committed.now) }
        }
    }

    deinit { loop.stop() }

    /// Connects ahead of the first submission, so that its hint leaves at once.
    func start() {
        loop.perform { [hints] in hints.assumeIsolated { $0.connect() } }
    }

    func submit(_ drafts: [CommandDraft], allowUnknownTypes: Bool) async -> Results {
        await withCheckedContinuation { continuation in
            submit(drafts, allowUnknownTypes: allowUnknownTypes) { continuation.resume(returning: $0) }
        }
    }

    private func submit(
        _ drafts: [CommandDraft], allowUnknownTypes: Bool, then resume: @escaping @Sendable (Results) -> Void
    ) {
        let groups = drafts.map { store.router.shard(of: $0).map { store.commitGroup(of: $0).index } }
        let first = groups.first ?? nil
        guard groups.contains(where: { $0 != first }) else {
            return committer(of: first).add(
                Entry(drafts: drafts, allowUnknownTypes: allowUnknownTypes, resume: resume))
        }
        let submission = DividedSubmission(count: drafts.count, resume: resume)
        for (group, positions) in Dictionary(grouping: drafts.indices, by: { groups[$0] }) {
            committer(of: group).add(
                Entry(drafts: positions.map { drafts[$0] }, allowUnknownTypes: allowUnknownTypes) {
                    submission.add($0, at: positions)
                })
        }
    }

    func send(_ kind: Hint.Kind, _ ids: [CommandID]) {
        loop.perform { [hints] in hints.assumeIsolated { $0.hint(kind, ids) } }
    }

    /// Sends waiting hints and ends the thread. Later submissions are committed without a hint.
    func close() async {
        loop.perform { [hints] in hints.assumeIsolated { $0.end() } }
        loop.stop()
        await loop.stopped()
    }

    // MARK: Commits

    /// - Parameter group: the index of a commit group; nil for drafts that may go to any.
    private func committer(of group: Int?) -> Committer {
        guard let group else { return committer }
        return keyed.withLock { keyed in
            if let known = keyed[group] { return known }
            let made = Committer(named: "submit-\(group)", policy: .once, share: { Self.share(of: $0) })
            start(made) { [loop, hints] committed in
                loop.perform {
                    hints.assumeIsolated { $0.tell(committed.drafts, committed.results, now: committed.now) }
                }
            }
            keyed[group] = made
            return made
        }
    }

    /// - Parameter tell: called after each commit, before the submissions get their results.
    private func start(_ committer: Committer, tell: @escaping @Sendable (Committed) -> Void) {
        committer.start(
            commit: { [store] writes, _ in
                // The store waits for the shards, and its results have the errors.
                let entries = writes()
                let drafts = entries.count == 1 ? entries[0].drafts : entries.flatMap(\.drafts)
                // Before the submit: a command that is due by then is ready in the store.
                let now = store.clock.now()
                let results = store.submit(
                    drafts, allowUnknownTypes: entries.first?.allowUnknownTypes ?? false)
                return Committed(drafts: drafts, results: results, now: now)
            },
            deliver: { batch in
                guard let committed = batch.outcomes else { return }
                tell(committed)
                var position = 0
                for entry in batch.writes {
                    let end = position + entry.drafts.count
                    entry.resume(Array(committed.results[position..<end]))
                    position = end
                }
            })
    }

    /// How many of the waiting submissions one commit takes.
    private static func share(of waiting: [Entry]) -> Int {
        var count = 0
        for (index, entry) in waiting.enumerated() {
            if index > 0, count >= batch || entry.allowUnknownTypes != waiting[0].allowUnknownTypes { return index }
            count += entry.drafts.count
        }
        return waiting.count
    }
}

/// Tells the coordinator of commits, on the loop of the submissions.
actor SubmitHints {
    private let loop: PollLoop
    private let target: HintTarget
    private var sender: HintSender?
    private var isClosed = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(to target: HintTarget, on loop: PollLoop) {
        self.loop = loop
        self.target = target
    }

    /// - Parameter results: of the drafts, in their order.
    func tell(_ drafts: [CommandDraft], _ results: [Result<Submission, StoreError>], now: Timestamp) {
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
        sender?.send(.submitted(Submitted(unlimited)))
    }

    func hint(_ kind: Hint.Kind, _ ids: [CommandID]) {
        guard !ids.isEmpty || kind == .settingsChanged else { return }
        if case .process(let hint) = target { return hint(kind, ids) }
        connect()
        sender?.send(kind, ids)
    }

    func connect() {
        // A socket made after the end would never close, and the endpoints close after their last socket.
        guard !isClosed, case .socket(let endpoints) = target else { return }
        // Without a socket, the coordinator's sweep finds the commands.
        if sender == nil { sender = try? HintSender(endpoints, loop: loop) }
    }

    /// Closes the socket when waiting hints have left. Later ones are not sent.
    func end() {
        isClosed = true
        sender = nil
    }
}

/// A submission whose drafts are committed by several threads. It ends with the last of them.
final class DividedSubmission: Sendable {
    private struct State {
        var results: [Result<Submission, StoreError>?]
        var missing: Int
    }

    private let state: Mutex<State>
    private let resume: @Sendable ([Result<Submission, StoreError>]) -> Void

    /// - Parameter count: of the drafts.
    init(count: Int, resume: @escaping @Sendable ([Result<Submission, StoreError>]) -> Void) {
        state = Mutex(State(results: Array(repeating: nil, count: count), missing: count))
        self.resume = resume
    }

    /// Takes the results of the drafts at `positions`.
    func add(_ results: [Result<Submission, StoreError>], at positions: [Int]) {
        let all = state.withLock { state -> [Result<Submission, StoreError>]? in
            for (position, result) in zip(positions, results) { state.results[position] = result }
            state.missing -= results.count
            return state.missing == 0 ? state.results.compactMap(\.self) : nil
        }
        if let all { resume(all) }
    }
}

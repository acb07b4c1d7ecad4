internal import Commands
internal import Membership
internal import Store
internal import Wire
internal import ZeroMQ

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

internal import Host

/// The states of all children. Events go in, actions come out. Pure: no clock, no process, no waiting.
///
/// ```
///            started              exited (not told to)
/// waiting ───────────► running ─────────────────────► waiting, after the delay of the policy
///    │                    │  exited, its stage stopping
///    └── stage stopping ──┴─────────────────────────► gone
/// ```
struct Fleet {
    /// An instruction to the supervisor.
    enum Action: Equatable {
        case signal(name: String, number: CInt)
        /// Ends its wait for a restart that will not come.
        case cancelRestart(name: String)
        /// The grace of these children begins now.
        case beginGrace(Grace)
        case allGone
    }

    /// The children that share a grace.
    enum Grace: Equatable {
        case stage(ChildSpecification.Stage)
        case child(String)
    }

    /// The next step for a child that ended.
    enum Next: Equatable {
        case restart(after: Duration)
        /// It is not started again.
        case end
    }

    enum Progress: Equatable {
        case running
        /// The children of this stage and of those before it have been told to end.
        case stopping(ChildSpecification.Stage)
        /// One child after the other is told to end, in the order of their stages.
        case stoppingInTurn
        case killing
    }

    private enum Phase {
        case waiting
        case running(pid: Int32, since: MonotonicTime, isTold: Bool)
        case gone
    }

    private struct Child {
        let stage: ChildSpecification.Stage
        let isEssential: Bool
        var phase = Phase.waiting
        var starts = 0
        var history = RestartPolicy.History()

        var isGone: Bool {
            if case .gone = phase { true } else { false }
        }
    }

    static let terminate: CInt = 15
    static let kill: CInt = 9

    private let policy: RestartPolicy
    /// In the order of the specification.
    private let names: [String]
    private var children: [String: Child]
    /// The children that were told to end in their turn.
    private var toldInTurn: Set<String> = []
    private(set) var progress = Progress.running
    private(set) var failure: SupervisionError?

    init(_ specifications: [ChildSpecification], policy: RestartPolicy) {
        self.policy = policy
        names = specifications.map(\.name)
        children = Dictionary(
            specifications.map { ($0.name, Child(stage: $0.stage, isEssential: $0.isEssential)) },
            uniquingKeysWith: { _, _ in fatalError("two children have the same name: give each its own") })
    }

    var status: [String: ChildStatus] {
        children.mapValues { child in
            var pid: Int32?
            if case .running(let running, _, _) = child.phase { pid = running }
            return ChildStatus(pid: pid, restarts: max(0, child.starts - 1))
        }
    }

    /// Asked before each start: false if it must not be started any more.
    func mayStart(_ name: String) -> Bool {
        !isStopping(name)
    }

    /// It does not run, and will not be started again.
    mutating func ended(_ name: String) -> [Action] {
        self[name].phase = .gone
        return advance()
    }

    mutating func started(_ name: String, pid: Int32, now: MonotonicTime) -> [Action] {
        self[name].starts += 1
        self[name].phase = .running(pid: pid, since: now, isTold: isStopping(name))
        guard isStopping(name) else { return [] }
        return [.signal(name: name, number: progress == .killing ? Self.kill : Self.terminate)]
    }

    /// - Returns: whether it had been told to end, what happens to it next, and what to do with the others.
    mutating func exited(
        _ name: String, wasReady: Bool = false, now: MonotonicTime, exit: (_ isIntentional: Bool) -> ChildExit
    ) -> (isIntentional: Bool, next: Next, actions: [Action]) {
        var isIntentional = isStopping(name)
        var lived = Duration.zero
        if case .running(_, let since, let wasTold) = self[name].phase {
            isIntentional = isIntentional || wasTold
            lived = now - since
        }
        self[name].phase = .waiting
        if isStopping(name) { return (isIntentional, .end, ended(name)) }
        if isIntentional { return (isIntentional, .restart(after: .zero), []) }
        let cause: RestartPolicy.Cause =
            wasReady
            ? .unrelated : exit(false).status.isPassing ? .passing : self[name].isEssential ? .start : .unrelated
        switch policy.verdict(at: now, lived: lived, cause: cause, history: &self[name].history) {
        case .restart(let delay):
            return (isIntentional, .restart(after: delay), [])
        case .giveUp:
            failure =
                failure ?? .tooManyDeaths(exit(isIntentional), deaths: policy.deathLimit, window: policy.deathWindow)
            self[name].phase = .gone
            return (isIntentional, .end, progress == .running ? stop() : advance())
        }
    }

    /// Kills a child that hangs. Its death is intentional, so that it does not count.
    mutating func kill(_ name: String) -> [Action] {
        guard case .running(let pid, let since, _)? = children[name]?.phase else { return [] }
        self[name].phase = .running(pid: pid, since: since, isTold: true)
        return [.signal(name: name, number: Self.kill)]
    }

    /// The first request ends the children in the order of their stages; the second one kills them.
    mutating func stop() -> [Action] {
        switch progress {
        case .running, .stoppingInTurn: begin(.first)
        case .stopping: killAll()
        case .killing: []
        }
    }

    /// Ends one child after the other. The others go on meanwhile, and are restarted as before.
    mutating func stopInTurn() -> [Action] {
        guard progress == .running else { return [] }
        progress = .stoppingInTurn
        return nextInTurn()
    }

    mutating func killAll() -> [Action] {
        progress = .killing
        return signal(Self.kill, to: names) + advance()
    }

    /// The grace of these children is over.
    mutating func graceEnded(_ grace: Grace) -> [Action] {
        switch grace {
        case .stage(let stage): signal(Self.kill, to: names.filter { self[$0].stage == stage })
        case .child(let name): signal(Self.kill, to: [name])
        }
    }

    private func isStopping(_ name: String) -> Bool {
        switch progress {
        case .running: false
        case .stopping(let reached): self[name].stage <= reached
        case .stoppingInTurn: toldInTurn.contains(name)
        case .killing: true
        }
    }

    private mutating func begin(_ stage: ChildSpecification.Stage) -> [Action] {
        progress = .stopping(stage)
        return signal(Self.terminate, to: names.filter { self[$0].stage == stage }) + [.beginGrace(.stage(stage))]
            + advance()
    }

    private mutating func nextInTurn() -> [Action] {
        let left = names.filter { !self[$0].isGone }
        guard left.allSatisfy({ !toldInTurn.contains($0) }) else { return [] }
        guard let name = left.min(by: { self[$0].stage < self[$1].stage }) else { return [.allGone] }
        toldInTurn.insert(name)
        return signal(Self.terminate, to: [name]) + [.beginGrace(.child(name))]
    }

    /// Goes on to the next stage, or to the end, when all children of this stage are gone.
    private mutating func advance() -> [Action] {
        if children.values.allSatisfy(\.isGone) { return [.allGone] }
        if progress == .stoppingInTurn { return nextInTurn() }
        guard case .stopping(let stage) = progress,
            children.values.allSatisfy({ $0.stage > stage || $0.isGone }),
            let next = ChildSpecification.Stage(rawValue: stage.rawValue + 1)
        else { return [] }
        return begin(next)
    }

    private mutating func signal(_ number: CInt, to names: [String]) -> [Action] {
        names.compactMap { name in
            switch self[name].phase {
            case .waiting: return .cancelRestart(name: name)
            case .running(let pid, let since, _):
                self[name].phase = .running(pid: pid, since: since, isTold: true)
                return .signal(name: name, number: number)
            case .gone: return nil
            }
        }
    }

    private subscript(name: String) -> Child {
        get {
            guard let child = children[name] else { fatalError("there is no child named \(name)") }
            return child
        }
        set { children[name] = newValue }
    }
}

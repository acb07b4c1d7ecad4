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
        /// The grace of this stage's children begins now.
        case beginGrace(ChildSpecification.Stage)
        case allGone
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
        case killing
    }

    private enum Phase {
        case waiting
        case running(pid: Int32, since: MonotonicTime, isTold: Bool)
        case gone
    }

    private struct Child {
        let stage: ChildSpecification.Stage
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
    private(set) var progress = Progress.running
    private(set) var failure: SupervisionError?

    init(_ specifications: [ChildSpecification], policy: RestartPolicy) {
        self.policy = policy
        names = specifications.map(\.name)
        children = Dictionary(
            specifications.map { ($0.name, Child(stage: $0.stage)) },
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
        !isStopping(self[name].stage)
    }

    /// It does not run, and will not be started again.
    mutating func ended(_ name: String) -> [Action] {
        self[name].phase = .gone
        return advance()
    }

    mutating func started(_ name: String, pid: Int32, now: MonotonicTime) -> [Action] {
        self[name].starts += 1
        self[name].phase = .running(pid: pid, since: now, isTold: isStopping(self[name].stage))
        guard isStopping(self[name].stage) else { return [] }
        return [.signal(name: name, number: progress == .killing ? Self.kill : Self.terminate)]
    }

    /// - Returns: whether it had been told to end, what happens to it next, and what to do with the others.
    mutating func exited(
        _ name: String, now: MonotonicTime, exit: (_ isIntentional: Bool) -> ChildExit
    ) -> (isIntentional: Bool, next: Next, actions: [Action]) {
        var isIntentional = isStopping(self[name].stage)
        var lived = Duration.zero
        if case .running(_, let since, let wasTold) = self[name].phase {
            isIntentional = isIntentional || wasTold
            lived = now - since
        }
        self[name].phase = .waiting
        if isStopping(self[name].stage) { return (isIntentional, .end, ended(name)) }
        if isIntentional { return (isIntentional, .restart(after: .zero), []) }
        switch policy.verdict(at: now, lived: lived, history: &self[name].history) {
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
        case .running: begin(.first)
        case .stopping: killAll()
        case .killing: []
        }
    }

    mutating func killAll() -> [Action] {
        progress = .killing
        return signal(Self.kill) { _ in true } + advance()
    }

    /// The grace of this stage's children is over.
    mutating func graceEnded(_ stage: ChildSpecification.Stage) -> [Action] {
        signal(Self.kill) { $0 == stage }
    }

    private func isStopping(_ stage: ChildSpecification.Stage) -> Bool {
        switch progress {
        case .running: false
        case .stopping(let reached): stage <= reached
        case .killing: true
        }
    }

    private mutating func begin(_ stage: ChildSpecification.Stage) -> [Action] {
        progress = .stopping(stage)
        return signal(Self.terminate) { $0 == stage } + [.beginGrace(stage)] + advance()
    }

    /// Goes on to the next stage, or to the end, when all children of this stage are gone.
    private mutating func advance() -> [Action] {
        if children.values.allSatisfy(\.isGone) { return [.allGone] }
        guard case .stopping(let stage) = progress,
            children.values.allSatisfy({ $0.stage > stage || $0.isGone }),
            let next = ChildSpecification.Stage(rawValue: stage.rawValue + 1)
        else { return [] }
        return begin(next)
    }

    private mutating func signal(_ number: CInt, to matches: (ChildSpecification.Stage) -> Bool) -> [Action] {
        names.compactMap { name in
            guard matches(self[name].stage) else { return nil }
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

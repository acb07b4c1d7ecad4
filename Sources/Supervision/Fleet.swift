/// The children as the supervisor sees them: events go in, orders come out. Pure: no clock, no process, no waiting.
///
/// ```
///            started              exited (unordered)
/// waiting ───────────► running ─────────────────────► waiting, after the delay of the policy
///    │                    │  exited, its stage stopping
///    └── stage stopping ──┴─────────────────────────► gone
/// ```
struct Fleet {
    enum Order: Equatable {
        case signal(name: String, number: CInt)
        /// It waits for a restart that will not come.
        case wake(name: String)
        /// From now on the children of this stage have their grace.
        case beginGrace(ChildSpecification.Stage)
        case allGone
    }

    enum Next: Equatable {
        case restart(after: Duration)
        /// It is not started again.
        case end
    }

    enum Progress: Equatable {
        case running
        /// Children of this stage and of those before it are told to end.
        case stopping(ChildSpecification.Stage)
        case killing
    }

    private enum Phase {
        case waiting
        case running(pid: Int32, since: Int64, ordered: Bool)
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

    /// Before each start: false where it is not to be started any more.
    func mayStart(_ name: String) -> Bool {
        !isStopping(self[name].stage)
    }

    /// It will not be started again, and none of it runs.
    mutating func ended(_ name: String) -> [Order] {
        self[name].phase = .gone
        return advance()
    }

    mutating func started(_ name: String, pid: Int32, now: Int64) -> [Order] {
        self[name].starts += 1
        self[name].phase = .running(pid: pid, since: now, ordered: isStopping(self[name].stage))
        guard isStopping(self[name].stage) else { return [] }
        return [.signal(name: name, number: progress == .killing ? Self.kill : Self.terminate)]
    }

    /// - Returns: whether the end was ordered, what to do next with this child, and with the others.
    mutating func exited(
        _ name: String, now: Int64, error: (_ ordered: Bool) -> ChildExit
    ) -> (ordered: Bool, next: Next, orders: [Order]) {
        var ordered = isStopping(self[name].stage)
        var lived = Duration.zero
        if case .running(_, let since, let wasOrdered) = self[name].phase {
            ordered = ordered || wasOrdered
            lived = .nanoseconds(now - since)
        }
        self[name].phase = .waiting
        if isStopping(self[name].stage) { return (ordered, .end, ended(name)) }
        if ordered { return (ordered, .restart(after: .zero), []) }
        switch policy.verdict(at: now, lived: lived, history: &self[name].history) {
        case .restart(let delay):
            return (ordered, .restart(after: delay), [])
        case .giveUp:
            failure =
                failure ?? .hopeless(error(ordered), deaths: policy.deathLimit, window: policy.deathWindow)
            self[name].phase = .gone
            return (ordered, .end, progress == .running ? stop() : advance())
        }
    }

    /// A child that hangs. Its death is ordered, so that it counts for nothing.
    mutating func kill(_ name: String) -> [Order] {
        guard case .running(let pid, let since, _)? = children[name]?.phase else { return [] }
        self[name].phase = .running(pid: pid, since: since, ordered: true)
        return [.signal(name: name, number: Self.kill)]
    }

    /// The first request ends the children in the order of their stages; the second one kills them.
    mutating func stop() -> [Order] {
        switch progress {
        case .running: begin(.first)
        case .stopping: killAll()
        case .killing: []
        }
    }

    mutating func killAll() -> [Order] {
        progress = .killing
        return orders(signal: Self.kill) { _ in true } + advance()
    }

    /// Their grace is over.
    mutating func graceEnded(_ stage: ChildSpecification.Stage) -> [Order] {
        orders(signal: Self.kill) { $0 == stage }
    }

    private func isStopping(_ stage: ChildSpecification.Stage) -> Bool {
        switch progress {
        case .running: false
        case .stopping(let reached): stage <= reached
        case .killing: true
        }
    }

    private mutating func begin(_ stage: ChildSpecification.Stage) -> [Order] {
        progress = .stopping(stage)
        return orders(signal: Self.terminate) { $0 == stage } + [.beginGrace(stage)] + advance()
    }

    /// On to the next stage, or the end, where all of this one are gone.
    private mutating func advance() -> [Order] {
        if children.values.allSatisfy(\.isGone) { return [.allGone] }
        guard case .stopping(let stage) = progress,
            children.values.allSatisfy({ $0.stage > stage || $0.isGone }),
            let next = ChildSpecification.Stage(rawValue: stage.rawValue + 1)
        else { return [] }
        return begin(next)
    }

    private mutating func orders(signal number: CInt, to matches: (ChildSpecification.Stage) -> Bool) -> [Order] {
        names.compactMap { name in
            guard matches(self[name].stage) else { return nil }
            switch self[name].phase {
            case .waiting: return .wake(name: name)
            case .running(let pid, let since, _):
                self[name].phase = .running(pid: pid, since: since, ordered: true)
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

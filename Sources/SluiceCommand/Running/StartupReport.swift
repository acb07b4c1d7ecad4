/// The state of each child of `up` at its start: the welcome and the notification of systemd come when each one runs or
/// has failed, so that they name only what runs. Pure.
struct StartupReport: Equatable {
    enum Child: Equatable {
        case starting, running, failed
    }

    static let coordinator = "coordinator"
    static let door = "door"

    private(set) var children: [String: Child]
    /// A stop has begun: there is nothing to report.
    private(set) var isCancelled = false

    init(children: [String]) {
        self.children = Dictionary(uniqueKeysWithValues: children.map { ($0, .starting) })
    }

    /// The coordinator runs, and each other child runs or has failed once.
    var isSettled: Bool { isRunning(Self.coordinator) && children.values.allSatisfy { $0 != .starting } }

    func isRunning(_ name: String) -> Bool { children[name] == .running }

    mutating func runs(_ name: String) { children[name] = .running }

    /// A failure after the child ran says nothing about the start.
    mutating func failed(_ name: String) {
        if children[name] != .running { children[name] = .failed }
    }

    mutating func cancel() { isCancelled = true }

    /// The workers that run, as in “2 workers of 16 operations each”, and those that do not.
    func workers(concurrency: Int) -> String {
        let workers = children.filter { $0.key != Self.coordinator && $0.key != Self.door }
        let running = workers.values.count { $0 == .running }
        let missing = workers.count - running
        return "\(running) worker\(running == 1 ? "" : "s") of \(concurrency) operations each"
            + (missing == 0 ? "" : "; \(missing) more cannot start yet")
    }
}

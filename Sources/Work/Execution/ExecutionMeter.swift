internal import Commands
internal import Host
internal import Metrics

/// Measures executions: waits, durations, failures and releases.
struct ExecutionMeter {
    private struct Key: Hashable {
        var type: String
        var outcome: CommandStatus
    }

    /// Types with times of their own. The types of operations are few, but a program may register any number.
    static let maxTypes = 50

    /// Of the causes that are known before they occur. A rate sees the first one only after a series with 0.
    private let failures: [CommandFailure.Fault: Counter]
    private let releases: [String: Counter]
    private var types: Set<String> = []
    private var times: [Key: Timer] = [:]
    private let waits = QualityOfService.allCases.map { Timer(label: "sluice.wait", dimensions: [("qos", $0.name)]) }

    init() {
        failures = Dictionary(uniqueKeysWithValues: [.command, .final].map { ($0, Self.failures($0)) })
        let faults: [CommandFailure.Fault] = [.link, .credential, .destination]
        let causes = StopReason.names.union(faults.map { "\($0)" })
        releases = Dictionary(uniqueKeysWithValues: causes.map { ($0, Self.releases($0)) })
    }

    /// - Parameters:
    ///   - claim: the number of the claim; only the first one ends a known wait.
    ///   - since: the submit.
    func claimed(_ claim: Int, _ qos: QualityOfService, since: Timestamp, now: Timestamp) {
        guard claim == 1 else { return }
        waits[qos.rawValue].recordNanoseconds(max(now.milliseconds - since.milliseconds, 0) * 1_000_000)
    }

    mutating func ended(_ type: String, as outcome: CommandStatus, after duration: Duration) {
        let key = Key(type: label(of: type), outcome: outcome)
        let time =
            times[key]
            ?? Timer(
                label: "sluice.execution", dimensions: [("type", key.type), ("outcome", key.outcome.name)])
        times[key] = time
        time.recordNanoseconds(duration.nanoseconds)
    }

    /// The type, or `other` where there are too many.
    mutating func label(of type: String) -> String {
        guard types.count >= Self.maxTypes else {
            types.insert(type)
            return type
        }
        return types.contains(type) ? type : "other"
    }

    func charged(_ fault: CommandFailure.Fault) { (failures[fault] ?? Self.failures(fault)).increment() }

    /// - Parameter cause: a word: a fault, or the reason of a stop.
    func released(_ cause: String) { (releases[cause] ?? Self.releases(cause)).increment() }

    private static func failures(_ fault: CommandFailure.Fault) -> Counter {
        Counter(label: "sluice.failures.charged", dimensions: [("fault", "\(fault)")])
    }

    private static func releases(_ cause: String) -> Counter {
        Counter(label: "sluice.released", dimensions: [("cause", cause)])
    }
}

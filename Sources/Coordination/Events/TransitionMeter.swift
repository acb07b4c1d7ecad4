internal import Commands
internal import Metrics

/// Counts the transitions that workers and the coordinator have made, by status and quality of service.
struct TransitionMeter {
    /// By raw values; there are few statuses, and each transition is counted.
    private let counters: [[Counter]]

    init() {
        let last = CommandStatus.allCases.map(\.rawValue).max() ?? 0
        counters = (0...last).map { value in
            guard let status = CommandStatus(rawValue: value) else { return [] }
            return QualityOfService.allCases.map { qos in
                Counter(label: "sluice.transitions", dimensions: [("status", status.name), ("qos", qos.name)])
            }
        }
    }

    func count(_ event: StatusEvent) { counters[event.transition.status.rawValue][event.qos.rawValue].increment() }
}

internal import Membership
internal import Metrics

/// Why a worker died. The raw values are labels of a metric.
enum WorkerDeath: String, CaseIterable, Sendable {
    /// Its process ended before it had drained.
    case crash
    /// The coordinator killed it, because its loop made no progress.
    case hung
    /// A person had stopped or killed it.
    case intended
    /// The machine was restarted.
    case reboot
    /// It speaks another version of the protocol.
    case foreign

    init(_ cause: DeathReport.Cause) {
        self =
            switch cause {
            case .crash: .crash
            case .intended: .intended
            case .reboot: .reboot
            }
    }

    static func count(_ cause: WorkerDeath) { counter(cause).increment() }

    /// Makes the series of all causes: a rate sees the first death only after a series with 0.
    static func makeCounters() { for cause in allCases { _ = counter(cause) } }

    private static func counter(_ cause: WorkerDeath) -> Counter {
        Counter(label: "sluice.worker.deaths", dimensions: [("cause", cause.rawValue)])
    }
}

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

    static func count(_ cause: WorkerDeath) {
        Counter(label: "sluice.worker.deaths", dimensions: [("cause", cause.rawValue)]).increment()
    }
}

/// The way to decide how many transfers run: one variant of an experiment.
enum Arm: String, CaseIterable, Sendable {
    case fixed1, fixed8, fixed32, ours
    case withoutPreemption = "ours-without-preemption"

    /// The fixed number of transfers; nil where the coordinator decides.
    var fixed: Int? {
        switch self {
        case .fixed1: 1
        case .fixed8: 8
        case .fixed32: 32
        case .ours, .withoutPreemption: nil
        }
    }

    /// The keys of `sluice.yaml` that select this arm.
    var policy: [String: String] {
        switch self {
        case .fixed1, .fixed8, .fixed32: ["network.fixedConcurrency": "\(fixed!)"]
        case .ours: [:]
        case .withoutPreemption: ["network.preemption": "false"]
        }
    }

    /// Slots of each worker: as many as the arm may use, or more than the coordinator would use.
    func concurrency(workers: Int) -> Int { fixed.map { max(1, $0 / workers) } ?? 32 }
}

/// Who decides how much runs.
enum Arm: String, CaseIterable, Sendable {
    case fixed1, fixed8, fixed32, ours
    case withoutPreemption = "ours-without-preemption"

    /// Transfers at once; nil where the coordinator decides.
    var fixed: Int? {
        switch self {
        case .fixed1: 1
        case .fixed8: 8
        case .fixed32: 32
        case .ours, .withoutPreemption: nil
        }
    }

    /// What `sluice.yaml` says of it, by its keys.
    var policy: [String: String] {
        switch self {
        case .fixed1, .fixed8, .fixed32: ["network.fixedConcurrency": "\(fixed!)"]
        case .ours: [:]
        case .withoutPreemption: ["network.preemption": "false"]
        }
    }

    /// Places of each of so many workers: as many as the arm may use, or more than the coordinator would.
    func concurrency(workers: Int) -> Int { fixed.map { max(1, $0 / workers) } ?? 32 }
}

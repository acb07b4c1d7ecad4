internal import Commands

/// Cumulative bytes of a link, of executions that have ended.
struct LinkTotals: Sendable {
    /// By class of quality.
    private(set) var ended = [Int64](repeating: 0, count: ServiceClass.allCases.count)
    /// Of all, also of those that run, when it was last reported.
    var reported: Int64 = 0
    /// Reports since something changed. It is told a few times more, because a report may be lost.
    var quietReports = 0

    static let repeats = 8
    /// Reports after which those of quiet links are forgotten: 10 minutes.
    static let memory = 2400

    mutating func add(_ bytes: Int64, _ serviceClass: ServiceClass) {
        ended[serviceClass.rawValue] += bytes
        quietReports = 0
    }
}

internal import Commands

/// Cumulative bytes of the ended executions of a link.
struct LinkTotals: Sendable {
    /// By class of quality.
    private(set) var ended = [Int64](repeating: 0, count: ServiceClass.allCases.count)
    /// Bytes of all executions, also of the running ones, in the last report.
    var reported: Int64 = 0
    /// The part of them that ``LinkMeter`` has counted, by class of quality.
    private var counted = [Int64](repeating: 0, count: ServiceClass.allCases.count)
    /// Reports since something changed. The link is reported a few times more, because a report may be lost.
    var quietReports = 0

    static let repeats = 8
    /// Reports after which quiet links are forgotten: 10 minutes.
    static let memory = 2400

    /// The bytes since the last call.
    /// - Parameter bytes: cumulative, of all executions, by class of quality.
    /// - Returns: nothing below 0: an upload that gets its response becomes a transfer of the other direction, and takes
    ///   its bytes along.
    mutating func takeNew(_ bytes: [Int64]) -> [Int64] {
        zip(bytes.indices, bytes).map { index, value in
            defer { counted[index] = max(counted[index], value) }
            return max(value - counted[index], 0)
        }
    }

    mutating func add(_ bytes: Int64, _ serviceClass: ServiceClass) {
        ended[serviceClass.rawValue] += bytes
        quietReports = 0
    }
}

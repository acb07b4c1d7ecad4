package import Host

/// The newest measurements of other processes. Pure.
package struct ProcessReports: Sendable {
    private struct Process {
        /// Of the report that is being put together.
        var round: Int64
        var parts: [Int: [MetricFamily]] = [:]
        var complete: [MetricFamily] = []
        /// When the last whole report came; before the first, when its process was first heard.
        var at: MonotonicTime
    }

    /// A process whose last report is older has ended, or cannot be heard.
    package static let maxAge: Duration = .seconds(15)
    /// A data directory has at most 256 workers.
    private static let maxProcesses = 300

    private var processes: [String: Process] = [:]

    package init() {}

    /// Takes a part of a report. A process is shown once all parts of a report have come.
    /// - Parameter process: the rest of the topic, such as `worker-1`.
    package mutating func take(_ report: MetricsReport, of process: String, now: MonotonicTime) {
        guard Self.isValid(process) else { return }
        processes = processes.filter { now - $0.value.at <= Self.maxAge }
        guard processes[process] != nil || processes.count < Self.maxProcesses else { return }
        var entry = processes[process] ?? Process(round: report.round, at: now)
        if entry.round != report.round { (entry.round, entry.parts) = (report.round, [:]) }
        entry.parts[report.part] = report.families
        if entry.parts.count == report.parts {
            entry.at = now
            entry.complete = entry.parts.sorted { $0.key < $1.key }.flatMap(\.value)
            entry.parts = [:]
        }
        processes[process] = entry
    }

    /// The processes that were heard within ``maxAge``, by name.
    package func families(now: MonotonicTime) -> [(process: String, families: [MetricFamily])] {
        processes.filter { now - $0.value.at <= Self.maxAge && !$0.value.complete.isEmpty }
            .sorted { $0.key < $1.key }.map { ($0.key, $0.value.complete) }
    }

    private static func isValid(_ process: String) -> Bool {
        if process == "coordinator" { return true }
        return process.hasPrefix("worker-") && process.dropFirst(7).wholeMatch(of: /[0-9]{1,3}/) != nil
    }
}

/// The number of commands in each status, by quality of service.
package struct CommandCounts: Sendable, Equatable {
    package var cells: [CommandStatus: [QualityOfService: Int]] = [:]

    package init() {}

    package subscript(_ status: CommandStatus) -> Int { cells[status]?.values.reduce(0, +) ?? 0 }
    package subscript(_ status: CommandStatus, _ qos: QualityOfService) -> Int {
        get { cells[status]?[qos] ?? 0 }
        set { cells[status, default: [:]][qos] = newValue }
    }

    /// The commands of a filter by its statuses and its quality of service; its other fields are not counted.
    package func count(of filter: CommandFilter) -> Int {
        CommandStatus.allCases.reduce(0) { sum, status in
            guard filter.statuses.isEmpty || filter.statuses.contains(status) else { return sum }
            return sum + (filter.qos.map { self[status, $0] } ?? self[status])
        }
    }
}

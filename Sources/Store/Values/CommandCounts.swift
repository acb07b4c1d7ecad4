package import Commands

/// The number of commands in each status, by quality of service.
package struct CommandCounts: Sendable, Equatable {
    package var cells: [CommandStatus: [QualityOfService: Int]] = [:]

    package init() {}

    package subscript(_ status: CommandStatus) -> Int { cells[status]?.values.reduce(0, +) ?? 0 }
    package subscript(_ status: CommandStatus, _ qos: QualityOfService) -> Int {
        get { cells[status]?[qos] ?? 0 }
        set { cells[status, default: [:]][qos] = newValue }
    }
}

/// Which commands a list has; a field that is nil admits all.
public struct CommandFilter: Sendable, Equatable {
    /// Only commands in one of these statuses; empty: in any.
    public var statuses: Set<CommandStatus> = []
    public var qos: QualityOfService?
    public var destination: Destination?
    public var type: String?
    /// Only members of this batch.
    public var batch: CommandID?
    /// Submitted at this time or later.
    public var from: Timestamp?
    /// Submitted before this time.
    public var before: Timestamp?
    /// Last changed at this time or later: of a command that has failed, the time of its failure.
    public var changedFrom: Timestamp?
    /// The reason contains this text; ASCII letters match in either case.
    public var reason: String?
    /// A path, URL or name in the payload contains this text (``CommandSubject``).
    public var subject: String?

    /// Makes a filter. Each field is nil, which admits all, unless it is given.
    public init(status: CommandStatus? = nil, qos: QualityOfService? = nil, destination: Destination? = nil) {
        self.qos = qos
        self.destination = destination
        self.status = status
    }

    /// The only one of ``statuses``; nil where they are none or several. Setting it replaces them.
    public var status: CommandStatus? {
        get { statuses.count == 1 ? statuses.first : nil }
        set { statuses = newValue.map { [$0] } ?? [] }
    }

    /// No index serves these fields: the rows have to be read.
    package var isSearch: Bool { reason != nil || subject != nil }

    /// The ids that ``from`` and ``before`` admit, both ends excluded. An id carries the time of its submit.
    package var idBounds: (lower: CommandID, upper: CommandID) {
        func first(of time: Timestamp) -> CommandID {
            CommandID(high: UInt64(clamping: min(time.milliseconds, 0xFFFF_FFFF_FFFF)) << 16, low: 0)
        }
        return (
            from.map { first(of: $0) } ?? CommandID(high: 0, low: 0),
            before.map { first(of: $0) } ?? CommandID(high: .max, low: .max)
        )
    }

    package func admits(_ command: Command) -> Bool {
        (statuses.isEmpty || statuses.contains(command.status))
            && qos.map { $0 == command.qos } ?? true
            && destination.map { $0 == command.destination } ?? true
            && type.map { $0 == command.type } ?? true
            && batch.map { $0 == command.batch } ?? true
            && from.map { $0 <= command.createdAt } ?? true
            && before.map { $0 > command.createdAt } ?? true
            && changedFrom.map { $0 <= command.updatedAt } ?? true
            && reason.map { text in command.reason?.asciiLowercased.utf8.contains(text.asciiLowercased.utf8) ?? false }
                ?? true
    }

    package func admits(payload: [UInt8]) -> Bool {
        subject.map { CommandSubject(payload: payload)?.contains($0) ?? false } ?? true
    }
}

extension String {
    /// ASCII letters in lower case, as `lower()` of SQLite writes them.
    package var asciiLowercased: String {
        String(decoding: utf8.map { (65...90).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}

/// The direction of a list. Ids are ordered by the time of the submit.
public enum CommandOrder: Sendable {
    case oldestFirst, newestFirst

    /// Whether `left` comes before `right` in a list.
    package func precedes(_ left: CommandID, _ right: CommandID) -> Bool {
        self == .oldestFirst ? left < right : right < left
    }
}

/// A part of a list.
public struct CommandPage: Sendable {
    public var commands: [Command] = []
    /// Every command up to this one has been looked at, and the next page comes after it; nil: all have been.
    public var next: CommandID?
    /// Rows that were looked at.
    public var scanned = 0

    package init() {}
}

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

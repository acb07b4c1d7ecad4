/// How urgent a command is, with the names of Foundation.
///
/// Lower raw values run first. The store has the raw values, and `Codable` uses them.
public enum QualityOfService: Int, Sendable, CaseIterable, Codable {
    /// The most urgent, of the class `high`.
    case userInteractive = 0
    /// Of the class `high`.
    case userInitiated = 1
    /// Of the class `middle`. A command that does not state its quality of service has this one.
    case `default` = 2
    /// Of the class `low`.
    case utility = 3
    /// The least urgent, of the class `low`.
    case background = 4

    /// The word in events, output and options: the name of the case.
    public var name: String {
        switch self {
        case .userInteractive: "userInteractive"
        case .userInitiated: "userInitiated"
        case .default: "default"
        case .utility: "utility"
        case .background: "background"
        }
    }

    /// The quality of service with that ``name``, in the same case; nil for any other word.
    public init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    /// The class of the quality of service.
    ///
    /// A class goes before the next. The floor is an exception: a class that has waited behind others for 5/6
    /// of `network.longestStandstill`, 50 s by default, starts one command at its destination. Within a
    /// class, waiting raises a command by one step for each `network.agingStep`, 60 s by default.
    public var serviceClass: ServiceClass {
        switch self {
        case .userInteractive, .userInitiated: .high
        case .default: .middle
        case .utility, .background: .low
        }
    }

    /// The number of steps behind the most urgent quality of service of the class.
    package var stepsBehind: Int64 {
        switch self {
        case .userInteractive, .default, .utility: 0
        case .userInitiated, .background: 1
        }
    }
}

extension QualityOfService: Comparable {
    /// More urgent is greater: `userInteractive > background`.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue > right.rawValue }
}

extension QualityOfService: CustomStringConvertible {
    /// The same as ``name``.
    public var description: String { name }
}

/// The three classes of quality of service. Lower raw values run first.
public enum ServiceClass: Int, Sendable, CaseIterable, Comparable {
    /// `userInteractive` and `userInitiated`.
    case high = 0
    /// `default`.
    case middle = 1
    /// `utility` and `background`.
    case low = 2

    package var qualities: [QualityOfService] { QualityOfService.allCases.filter { $0.serviceClass == self } }

    /// More urgent is greater: `high > low`.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue > right.rawValue }
}

/// How urgent a command is, with the names of Foundation. Lower raw values run first; the store has the raw
/// values.
public enum QualityOfService: Int, Sendable, CaseIterable, Codable {
    case userInteractive = 0
    case userInitiated = 1
    case `default` = 2
    case utility = 3
    case background = 4

    /// The word in events, output and options.
    public var name: String {
        switch self {
        case .userInteractive: "userInteractive"
        case .userInitiated: "userInitiated"
        case .default: "default"
        case .utility: "utility"
        case .background: "background"
        }
    }

    /// The quality of service with that name; nil for any other word.
    public init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    /// A class always goes before the next. Within a class, waiting raises a command: a minute counts as one
    /// step, unless the policy says otherwise.
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
    public var description: String { name }
}

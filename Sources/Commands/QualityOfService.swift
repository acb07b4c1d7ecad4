/// How urgent a command is, in Foundation's words. Lower raw values run first; they are in the store.
public enum QualityOfService: Int, Sendable, CaseIterable, Codable {
    case userInteractive = 0
    case userInitiated = 1
    case `default` = 2
    case utility = 3
    case background = 4

    /// The word in events, output and flags.
    public var name: String {
        switch self {
        case .userInteractive: "userInteractive"
        case .userInitiated: "userInitiated"
        case .default: "default"
        case .utility: "utility"
        case .background: "background"
        }
    }

    /// The quality of that name, nil for any other word.
    public init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    /// Classes are strict among themselves; within one, waiting counts: a minute of it as one step, unless the policy says
    /// otherwise.
    public var serviceClass: ServiceClass {
        switch self {
        case .userInteractive, .userInitiated: .high
        case .default: .middle
        case .utility, .background: .low
        }
    }

    /// How far this quality stands behind the first of its class.
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

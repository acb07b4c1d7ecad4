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

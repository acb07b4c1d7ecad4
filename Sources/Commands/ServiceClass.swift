/// The three classes of quality of service. Lower raw values run first.
public enum ServiceClass: Int, Sendable, CaseIterable, Comparable {
    case high = 0
    case middle = 1
    case low = 2

    package var qualities: [QualityOfService] { QualityOfService.allCases.filter { $0.serviceClass == self } }

    /// More urgent is greater.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue > right.rawValue }
}

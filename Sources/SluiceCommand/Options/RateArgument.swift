internal import ArgumentParser
internal import NetworkControl

/// `2Mbit`, `250kB`, bytes per second, or `none`.
enum RateArgument: ExpressibleByArgument {
    case none
    case bytesPerSecond(Int64)

    init?(argument: String) {
        if argument == "none" {
            self = .none
        } else if let rate = RateText.bytesPerSecond(argument), rate >= DestinationLimits.minRate {
            self = .bytesPerSecond(rate)
        } else {
            ArgumentForm.expect("\(RateText.examples), at least \(DestinationLimits.minRate), or none")
            return nil
        }
    }

    var bytesPerSecond: Int64? { if case .bytesPerSecond(let rate) = self { rate } else { nil } }
}

package import Commands

extension UniquePeriod {
    /// The forms of a period, for error messages.
    package static let forms = "“kept”, “running”, or a time of at least 1 ms such as 10m or 24h"

    /// Reads `kept`, `running`, or a time such as `10m`, `24h`, `1h30m`. - Returns: nil for anything else.
    package init?(text: String) {
        switch text {
        case "kept": self = .kept
        case "running": self = .running
        default:
            guard let duration = Duration.parse(text), duration >= .milliseconds(1) else { return nil }
            self = .duration(duration)
        }
    }
}

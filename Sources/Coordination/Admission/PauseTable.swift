internal import Commands
internal import NetworkControl
internal import Store

/// The destinations and qualities of service that people have paused. Pure.
struct PauseTable: Sendable, Equatable {
    private var everywhere: UInt8 = 0
    private var byDestination: [Destination: UInt8] = [:]

    init() {}

    init(_ pauses: [Pause]) {
        for pause in pauses {
            if let destination = pause.destination {
                byDestination[destination, default: 0] |= pause.qualityBits
            } else {
                everywhere |= pause.qualityBits
            }
        }
    }

    func covers(_ destination: Destination, _ qos: QualityOfService) -> Bool {
        let bit = UInt8(1) << UInt8(qos.rawValue)
        if everywhere & bit != 0 { return true }
        return !byDestination.isEmpty && byDestination[destination, default: 0] & bit != 0
    }
}

import Commands
import Host

@testable import NetworkControl

/// From one report of a worker to the next.
let quarter: Duration = .milliseconds(250)
/// Bytes per second.
let megabit = 125_000.0

/// A point in time, in seconds after the boot.
func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: Int64((seconds * 1e9).rounded())) }

func id(_ number: UInt64) -> CommandID { CommandID(high: number, low: number) }
func destination(_ name: String) -> Destination { Destination(scheme: "http", host: name, port: 80) }

/// An interval of a saturated link, by default.
func interval(
    _ rate: Double, transfers: Int = 4, flowing: Int? = nil, srtt: Duration? = .milliseconds(60),
    minRTT: Duration? = .milliseconds(50)
) -> LinkInterval {
    var interval = LinkInterval()
    interval.rate = rate
    interval.minInFlight = transfers
    interval.maxInFlight = transfers
    interval.flowing = flowing ?? transfers
    interval.srtt = srtt
    interval.minRTT = minRTT
    return interval
}

/// Feeds intervals to a controller for some seconds.
/// - Parameter one: the interval at a limit.
func run(
    _ controller: inout ConcurrencyController, seconds: Double, from: Double = 0, maxLimit: Int = 32,
    _ one: (Int) -> LinkInterval
) {
    for step in 0..<Int64(seconds * 4) {
        let now = at(from + Double(step) / 4)
        controller.add(one(controller.limit), maxLimit: maxLimit, baseRTT: .milliseconds(50), now: now)
    }
}

func key(_ name: String) -> LinkKey { LinkKey(destination(name), .up) }

func sample(
    _ number: UInt64, to name: String = "a", _ qos: QualityOfService = .utility, acknowledged: Int64 = 1_000_000,
    remaining: Int64? = 10_000_000, resumable: Bool = true
) -> TransferSample {
    var sample = TransferSample(id: id(number), destination: destination(name), qos: qos)
    sample.acknowledged = acknowledged
    sample.remaining = remaining
    sample.srtt = .milliseconds(60)
    sample.minRTT = .milliseconds(50)
    sample.isResumable = resumable
    return sample
}

/// Evaluates a mutating call before the expectation takes it apart.
func value<Value>(_ value: Value) -> Value { value }

/// One transfer of each quality.
func oneOfEach(to name: String = "a") -> [TransferSample] {
    QualityOfService.allCases.map { sample(UInt64($0.rawValue) + 1, to: name, $0) }
}

extension NetworkController {
    /// Whether a command may go.
    /// - Parameter asProbe: as the probe of the destination's circuit breaker, which is not closed.
    func admits(_ qos: QualityOfService, to key: LinkKey, asProbe: Bool = false, now: MonotonicTime) -> Bool {
        switch availability(of: qos, to: key, now: now) {
        case .available, .probe: !asProbe
        case .circuitBreaker:
            asProbe && key.destination.flatMap { circuitBreakers[$0]?.isProbeDue(now: now) } ?? false
        case .heldOffline, .outOfHours, .offline: false
        }
    }

    /// The next probe of all links for which commands wait.
    var nextProbe: MonotonicTime? { waiting.keys.compactMap { nextProbe(of: $0) }.min() }
}

extension LinkAllowance {
    /// Whether the limits of the link admit one more command.
    func admits(_ qos: QualityOfService, others: Int, low: Int) -> Bool {
        guard !blocked.contains(qos) else { return false }
        if qos.serviceClass == .high { return true }
        return others < limit && (qos.serviceClass != .low || low < lowLimit)
    }
}

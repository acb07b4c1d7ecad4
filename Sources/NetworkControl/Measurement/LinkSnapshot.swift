internal import Commands
internal import Host

/// The transfers of one link at one moment.
struct LinkSnapshot: Sendable {
    var transfers: [TransferSample] = []
    var workers: Set<Int64> = []
    /// Of middle and low quality.
    var inFlight = 0
    var highInFlight = 0
    /// Transfers by class; and of these, the ones that have bytes to send.
    var counts = [0, 0, 0]
    private var sending = [0, 0, 0]
    var stalled = 0
    var isSteered = false
    var isAtMaxRate = false
    var heldByReceiver = 0
    var srtts: [Duration] = []
    var firstBytes: [Duration] = []
    var minRTT: Duration?
    /// Transfers that have made progress for a second: the server has accepted them.
    var accepted: [CommandID] = []
    private var flowingSince: [MonotonicTime] = []

    private static let minStall: Duration = .seconds(2)
    private static let acceptance: Duration = .seconds(1)

    /// - Parameter isAtMaxRate: if the transfer is paced, a person's `maxRate` is the cause.
    mutating func add(_ transfer: TrackedTransfer, isAtMaxRate: Bool = false, now: MonotonicTime) {
        let sample = transfer.sample
        transfers.append(sample)
        workers.insert(transfer.worker)
        counts[sample.qos.serviceClass.rawValue] += 1
        if sample.remaining != 0 { sending[sample.qos.serviceClass.rawValue] += 1 }
        if sample.qos.serviceClass == .high { highInFlight += 1 } else { inFlight += 1 }
        switch sample.state {
        case .running: break
        case .throttled where isAtMaxRate: self.isAtMaxRate = true
        // One that has nothing left to send computes a checksum.
        case .throttled, .paused: if sample.remaining != 0 { isSteered = true }
        }
        if sample.isHeldByReceiver { heldByReceiver += 1 }
        if let since = transfer.flowingSince {
            flowingSince.append(since)
            let silence = now - transfer.progressAt
            if silence > Self.minStall, silence > (sample.srtt ?? .zero) * 4 { stalled += 1 }
        }
        if let began = transfer.beganProgress, transfer.progressAt - began >= Self.acceptance {
            accepted.append(sample.id)
        }
        if let srtt = sample.srtt { srtts.append(srtt) }
        if let first = sample.timeToFirstByte { firstBytes.append(first) }
        if let rtt = sample.minRTT { minRTT = min(minRTT ?? rtt, rtt) }
    }

    /// Transfers of a class that share a rate: those that have bytes to send, and at least a quarter of all,
    /// because more may begin before the next report. A transfer that waits for its response needs none of
    /// the rate: with a share for each, 64 files of 64 kB, answered after 0.4 s, went at 63 % of the rate
    /// that they reached without a limit (measured).
    func sharers(of serviceClass: ServiceClass) -> Int {
        max(sending[serviceClass.rawValue], (counts[serviceClass.rawValue] + 3) / 4, 1)
    }

    /// Transfers that have had bytes to send since a time.
    func flowing(since: MonotonicTime) -> Int { flowingSince.count { $0 <= since } }
    var hasFlow: Bool { !flowingSince.isEmpty }
    var medianRTT: Duration? { srtts.isEmpty ? nil : srtts.sorted()[srtts.count / 2] }
}

/// A transfer over several samples.
struct TrackedTransfer: Sendable {
    private(set) var sample: TransferSample
    let worker: Int64
    /// Since when it has had bytes to send and was held back neither by this host nor by the receiver.
    private(set) var flowingSince: MonotonicTime?
    private(set) var progressAt: MonotonicTime
    /// When its first bytes were acknowledged.
    private(set) var beganProgress: MonotonicTime?

    init(_ sample: TransferSample, worker: Int64, now: MonotonicTime) {
        self.sample = sample
        self.worker = worker
        flowingSince = sample.isFlowing ? now : nil
        progressAt = now
        beganProgress = sample.acknowledged > 0 ? now : nil
    }

    /// - Returns: bytes acknowledged and bytes sent again since the last sample.
    mutating func update(_ sample: TransferSample, now: MonotonicTime) -> (gained: Int64, resent: Int64) {
        let resent = max(sample.retransmitted - self.sample.retransmitted, 0)
        let gained = max(sample.acknowledged - self.sample.acknowledged, 0)
        // A transfer that this host or the receiver held back is expected to make progress from now on.
        if gained > 0 || self.sample.state != .running || self.sample.isHeldByReceiver { progressAt = now }
        if sample.acknowledged > 0 { beganProgress = beganProgress ?? now }
        if !sample.isFlowing { flowingSince = nil } else if flowingSince == nil { flowingSince = now }
        self.sample = sample
        return (gained, resent)
    }
}

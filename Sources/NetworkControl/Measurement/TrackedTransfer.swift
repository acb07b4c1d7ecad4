internal import Commands
internal import Host

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

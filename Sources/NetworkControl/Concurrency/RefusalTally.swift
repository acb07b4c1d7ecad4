internal import Host

/// Counts what a server accepted and refused, by the number of requests in flight. Counts lose half of their
/// weight in 30 s. Pure.
struct RefusalTally: Sendable, Equatable {
    private var accepted: [Double] = []
    private var refused: [Double] = []
    private var agedAt: MonotonicTime?

    /// How much larger the share of refused requests may be at a number than below it.
    private static let toleratedShare = 0.05
    private static let step: Duration = .seconds(1)
    /// The part of a count that a second leaves: half in 30 s.
    private static let weightPerStep = 0.977
    /// After this number of steps nothing is left.
    private static let maxSteps: Int64 = 600
    private static let maxNumber = 256

    mutating func add(_ number: Int, isRefused: Bool, now: MonotonicTime) {
        age(now: now)
        let index = min(max(number, 0), Self.maxNumber)
        if index >= accepted.count {
            let missing = [Double](repeating: 0, count: index + 1 - accepted.count)
            accepted += missing
            refused += missing
        }
        if isRefused { refused[index] += 1 } else { accepted[index] += 1 }
    }

    /// Shares of refused requests below a number, and from it on; 0 where there were none.
    func shares(at number: Int) -> (below: Double, above: Double) {
        let number = min(max(number, 0), accepted.count)
        func share(_ numbers: Range<Int>) -> Double {
            let (accepted, refused) = (accepted[numbers].reduce(0, +), refused[numbers].reduce(0, +))
            return refused > 0 ? refused / (accepted + refused) : 0
        }
        return (share(0..<number), share(number..<accepted.count))
    }

    /// Hardly more is refused from this number on than below it.
    func isTolerated(at number: Int) -> Bool {
        let shares = shares(at: number)
        return shares.above <= shares.below + Self.toleratedShare
    }

    private mutating func age(now: MonotonicTime) {
        guard let agedAt else {
            self.agedAt = now
            return
        }
        let steps = (now - agedAt).nanoseconds / Self.step.nanoseconds
        guard steps > 0 else { return }
        self.agedAt = agedAt + Self.step * steps
        var factor = 1.0
        for _ in 0..<min(steps, Self.maxSteps) { factor *= Self.weightPerStep }
        for index in accepted.indices {
            accepted[index] *= factor
            refused[index] *= factor
        }
    }
}

internal import Foundation

/// The rounds of a random test: as many as a range permits within a second. Prints their number at the end.
///
/// `SLUICE_ROUNDS=N` makes exactly N, to replay a run beside its `SLUICE_SEED`. A run with a seed alone makes the maximum, so
/// that it reaches each round of another machine.
package final class RandomRounds: Sequence, IteratorProtocol {
    private let test: String
    private let minRounds: Int
    private let maxRounds: Int
    private let deadline: ContinuousClock.Instant
    private var count = 0

    /// - Parameters:
    ///   - test: the name that ``SeededRandom/announced(_:)`` has printed.
    ///   - range: the minimum and the maximum. The minimum is enough for the expectations after the rounds.
    ///   - time: after the minimum, the rounds end once this time has passed.
    package init(_ test: String, _ range: ClosedRange<Int>, within time: Duration = .seconds(1)) {
        let environment = ProcessInfo.processInfo.environment
        self.test = test
        let fixed = environment["SLUICE_ROUNDS"].flatMap { Int($0) }
        maxRounds = fixed ?? range.upperBound
        minRounds = environment["SLUICE_SEED"].flatMap { UInt64($0) } == nil ? fixed ?? range.lowerBound : maxRounds
        deadline = .now + time
    }

    deinit { print("\(test): \(count) rounds; SLUICE_ROUNDS=\(count) with its SLUICE_SEED replays them") }

    /// The number of the next round, from 0.
    package func next() -> Int? {
        guard count < maxRounds, count < minRounds || ContinuousClock.now < deadline else { return nil }
        defer { count += 1 }
        return count
    }
}

/// The observations of a histogram so far.
package struct HistogramValue: Sendable, Equatable {
    /// The upper bounds of the buckets, ascending. The last bucket has none.
    package var bounds: [Double]
    /// Observations in each bucket alone, one more than there are bounds.
    package var counts: [Int]
    package var sum: Double

    /// - Parameter counts: one more than there are bounds.
    package init(bounds: [Double], counts: [Int], sum: Double) {
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
    }

    package var count: Int { counts.reduce(0, &+) }
}

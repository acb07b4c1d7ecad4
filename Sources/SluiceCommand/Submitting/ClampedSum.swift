extension Sequence<Int64> {
    /// The sum of sizes, at most `Int64.max`: two sparse files may have more bytes together.
    var clampedSum: Int64 {
        reduce(0) { sum, size in
            let (next, isOver) = sum.addingReportingOverflow(size)
            return isOver ? .max : next
        }
    }
}

extension Duration {
    /// Whole nanoseconds, towards zero; the ends of `Int64` for what is longer (292 years).
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || carried ? (seconds < 0 ? .min : .max) : sum
    }
}

import Commands
import Host

/// The result of a stream of uploads.
struct Supply: Sendable {
    var submitted: Int
    /// The number of uploads that were answered with 2xx in that time.
    var succeeded: Int
    var begin: MonotonicTime
    var end: MonotonicTime

    var perSecond: Double { Double(succeeded) / (end - begin).seconds }
}

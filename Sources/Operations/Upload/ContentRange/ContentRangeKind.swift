/// How a destination that takes `Content-Range` is asked for what it holds; the raw value stands in checkpoints.
enum ContentRangeKind: String, Sendable {
    /// ``ContentRangeSession``
    case session
    /// ``ContentRangeLength``
    case length
}

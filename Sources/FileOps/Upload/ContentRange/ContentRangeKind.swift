/// How the offset of an upload by `Content-Range` is queried. The raw values are stored in checkpoints.
enum ContentRangeKind: String, Sendable {
    /// ``ContentRangeSession``
    case session
    /// ``ContentRangeLength``
    case length
}

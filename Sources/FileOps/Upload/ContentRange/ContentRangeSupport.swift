/// How a destination supports `Content-Range`, by its answer to the first query.
enum ContentRangeSupport {
    /// By ``ContentRangeSession``; with the answer of the session.
    case session(ResumptionAnswer)
    /// By ``ContentRangeLength``; with the answer where the query has emptied the target already.
    case length(emptied: ResumptionAnswer?)
    /// Not at all: the destination takes the whole file only.
    /// - createdTarget: the query has created the target.
    case none(createdTarget: Bool)
}

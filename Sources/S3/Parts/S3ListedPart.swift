/// A part as ListParts reports it.
struct S3ListedPart: Sendable, Equatable {
    var number: Int
    var size: Int64
    /// Without quotes.
    var etag: String
}

/// The object that a completion or a PUT has made.
struct S3StoredObject: Sendable, Equatable {
    /// Without quotes.
    var etag: String?
    var versionID: String?
    /// The object's URL by the endpoint.
    var location: String?
}

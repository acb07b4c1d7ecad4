internal import Commands
internal import Uploads

/// The intent of a tus request.
enum TusRequest: Equatable {
    case create(Creation)
    /// Joins uploads into a new one.
    case concatenate([CommandID], TusMetadata?)

    struct Creation: Equatable {
        /// Nil for a deferred one.
        var length: Int64?
        var metadata: TusMetadata?
        /// It may become a part of others.
        var isPartial = false
        /// Where the request also sends the first bytes (creation-with-upload).
        var append: UploadAppend?
    }
}

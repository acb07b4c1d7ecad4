internal import Commands
internal import Store
internal import Uploads

/// The intent of a request that creates an upload of the IETF draft.
struct ResumableCreation: Equatable {
    /// Bytes in all; nil while the client has not stated them.
    var length: Int64?
    /// The required digest of all bytes.
    var digest: UploadDigest?
    /// The bytes of the request itself.
    var append: UploadAppend
}

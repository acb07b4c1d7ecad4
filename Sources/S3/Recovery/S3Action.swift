/// The next action of an `s3`.
enum S3Action: Sendable, Equatable {
    /// Send the file in one request.
    case put
    /// Save a planned checkpoint, then create an upload.
    case create
    /// Look for an upload that this command may have created before.
    case listUploads
    /// Compare the parts of the checkpoint with the endpoint.
    case listParts
    /// Send these parts.
    case send([Int])
    /// Save the phase `completing`, then send the completion with the parts of the checkpoint.
    case complete
    /// HEAD.
    case inspectObject
    /// Delete the upload, then list its parts, because one in flight may still arrive.
    case abort
    /// The upload is lost: plan a new one (``S3Checkpoint/restarted()``).
    case restart
    /// The object is stored.
    case succeed
    /// The upload is deleted.
    case stop
}

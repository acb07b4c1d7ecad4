internal import Transfers

/// Decides how an execution goes on where an earlier one has ended, at whatever point that was. Pure.
///
/// | the earlier execution ended | what is left | next |
/// |---|---|---|
/// | before CreateMultipartUpload | planned | create |
/// | with Create sent, its answer lost | planned | list uploads, if the key has the command's id; create |
/// | with a part sent, its answer lost | initiated, no row | list parts; adopt an equal one, send others |
/// | with all parts acknowledged | initiated | complete |
/// | with Complete sent, its answer lost | completing | HEAD; list parts; 404: HEAD once more, restart |
/// | with a cancellation | aborting | abort until no part is listed |
///
/// An upload of Create that no list finds stays at the endpoint until the bucket's lifecycle deletes it.
struct S3Recovery: Sendable, Equatable {
    /// The state that HEAD has found.
    enum Finding: Sendable, Equatable {
        case ours
        /// There is no object, or another one.
        case other
    }

    let plan: PartPlan
    /// Whether the command's id is in the key, so that every upload to the key is this command's.
    let keyHasCommand: Bool

    /// The first action of an execution.
    /// - Parameters:
    ///   - checkpoint: what earlier executions left; nil in the first one.
    ///   - source: the file as it is now.
    ///   - acknowledged: the numbers of the parts in the checkpoint.
    func first(_ checkpoint: S3Checkpoint?, of source: SourceIdentity, acknowledged: Set<Int>) -> S3Action {
        let start: S3Action = plan.isSingle ? .put : .create
        guard let checkpoint else { return start }
        guard checkpoint.isValid(for: source) else { return checkpoint.uploadID == nil ? start : .abort }
        switch checkpoint.phase {
        case .planned where plan.isSingle: return .put
        case .planned: return keyHasCommand ? .listUploads : .create
        case .initiated: return plan.missing(acknowledged).isEmpty ? .complete : .listParts
        case .completing: return .inspectObject
        case .aborting: return .abort
        }
    }

    /// After ListMultipartUploads.
    /// - Parameter isFound: an upload of this command exists and was stored.
    func afterUploads(isFound: Bool) -> S3Action { isFound ? .listParts : .create }

    /// After ListParts.
    /// - Parameters:
    ///   - exists: false for NoSuchUpload.
    ///   - acknowledged: the same, with adopted parts and without lost ones.
    func afterParts(exists: Bool, acknowledged: Set<Int>) -> S3Action {
        guard exists else { return .inspectObject }
        let missing = plan.missing(acknowledged)
        return missing.isEmpty ? .complete : .send(missing)
    }

    /// After HEAD.
    /// - Parameter isLost: whether ListParts, or another request, has said that the upload does not exist.
    func afterObject(_ finding: Finding, isLost: Bool) -> S3Action {
        switch finding {
        case .ours: .succeed
        case .other: isLost ? .restart : .listParts
        }
    }
}

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

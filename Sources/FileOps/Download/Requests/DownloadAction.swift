internal import Commands

/// The next step of a download.
enum DownloadAction: Sendable, Equatable {
    /// Send this request. The body of the last answer, if one is still coming, is not needed.
    case send(DownloadRequest)
    /// Truncate the part to nothing, save the checkpoint, then write the body from 0: in this order, so that
    /// the validators of one version never stand beside bytes of another.
    case replace(DownloadBody)
    /// Compare the overlap of the body with the part, then write the rest behind the part. A difference is
    /// reported by ``DownloadRequestRules/overlapDiffered()`` before anything is written. The checkpoint need
    /// not be saved first.
    case append(DownloadBody)
    /// Compare the checksums, then publish the part.
    case complete(DownloadCompletion)
    /// The target is the current version. The part is deleted.
    case notModified
    /// The status is a failure, which `HTTPVerdict` judges. The part is deleted if it is final.
    case refused
    /// Save the checkpoint and end the execution.
    /// - deletesPart: true for every final failure, and where the part has wrong bytes.
    case failed(CommandFailure, deletesPart: Bool)
}

package import Commands

/// The consequence of a refusal.
package enum S3Decision: Sendable, Equatable {
    case fail(CommandFailure)
    /// Sign with this offset and send once more; not charged. Later requests to the endpoint use it as well.
    case correctClock(S3ClockOffset)
    /// Send the same bytes once more.
    case sendAgain
    /// HEAD. Where the object is not this command's, the upload is lost: plan a new one
    /// (``S3Checkpoint/restarted()``).
    case inspectThenRestart
    /// Abort the upload and plan a new one.
    case restart
    /// HEAD. Where the object is this command's, it has succeeded; else it fails like this.
    case inspectThenFail(CommandFailure)
}

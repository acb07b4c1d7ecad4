internal import Commands

/// The source is gone, and its removal was asked for: an earlier execution may have done it.
struct MissingSource: Error {
    let failure: CommandFailure
}

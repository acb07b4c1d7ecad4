internal import Commands

/// The source does not exist, and its removal was requested: an earlier execution may have deleted it.
struct MissingSource: Error {
    let failure: CommandFailure
}

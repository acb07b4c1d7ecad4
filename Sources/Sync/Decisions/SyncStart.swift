internal import Commands

/// Decides how an execution of a sync begins. Pure.
enum SyncStart: Sendable, Equatable {
    /// An earlier execution of the command was applied, and died before it could say so.
    case applied(rev: Int64)
    /// Goes on with the pages of an earlier execution.
    case resume(SyncCheckpoint)
    /// Drops staged pages and reads from the first one.
    /// - Parameter condition: nil: the request has no condition.
    case begin(SyncRead, condition: ListValidators?)

    /// - Parameters:
    ///   - checkpoint: the staged pages of an earlier execution, in the collection.
    ///   - now: the wall clock.
    init(
        _ payload: SyncPayload, command: CommandID, state: SyncState, checkpoint: SyncCheckpoint?, now: Timestamp
    ) {
        if state.command == command {
            self = .applied(rev: state.rev)
        } else if let checkpoint, checkpoint.isValid(for: payload, command: command, now: now) {
            self = .resume(checkpoint)
        } else {
            let isSame = state.fingerprint == payload.fingerprint
            let read = isSame ? SinceRules.read(payload.since, state, now: now) : .full
            self = .begin(read, condition: isSame ? Self.condition(payload, state, read) : nil)
        }
    }

    /// A condition needs a list that was taken over as it is. Rows that were changed here wait for the remote
    /// record, which a 304 would withhold. The validators of a page do not cover its Link header: when the list
    /// grows by a second page, the first one may be the same.
    private static func condition(_ payload: SyncPayload, _ state: SyncState, _ read: SyncRead) -> ListValidators? {
        guard payload.isConditional, read == .full, !state.hasLocalRows || payload.merge == .local,
            payload.pages.by != .link || payload.pages.cursor != nil
        else { return nil }
        return state.validators
    }
}

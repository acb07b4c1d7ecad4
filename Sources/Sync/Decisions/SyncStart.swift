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

/// The extent of a read.
enum SyncRead: Sendable, Equatable {
    /// The whole list.
    case full
    /// The changes since a token.
    case delta(token: String)
}

/// The state of a collection after its last sync. It is written in the transaction of the merge, so that
/// token and rows never differ.
struct SyncState: Sendable, Equatable {
    /// The revision of the collection.
    var rev: Int64 = 0
    /// The command that was merged last; nil where a person has begun it again since.
    var command: CommandID?
    /// Of the payload (``SyncPayload/fingerprint``) that token and validators belong to.
    var fingerprint = ""
    var token: String?
    var validators: ListValidators?
    /// When the last full read was applied, by this host's clock.
    var lastFull: Timestamp?
    /// Whether the collection has rows that were changed here.
    var hasLocalRows = false
}

/// The validators of a list of one page, for the condition of the next sync.
struct ListValidators: Sendable, Equatable {
    var etag: String?
    var lastModified: String?

    /// - Returns: nil where a later 304 would not speak for the whole list: after a delta, several pages, or
    ///   an answer without validators.
    init?(etag: String?, lastModified: String?, pages: Int64, read: SyncRead) {
        guard pages == 1, read == .full, etag != nil || lastModified != nil else { return nil }
        // A value of many kilobytes is not worth a row and a header field.
        guard (etag ?? "").utf8.count <= 1024, (lastModified ?? "").utf8.count <= 64 else { return nil }
        self.etag = etag
        self.lastModified = lastModified
    }

    /// The header fields of a conditional request. A weak tag is valid in `If-None-Match` (RFC 9110, section
    /// 13.1.2).
    var headers: [(name: String, value: String)] {
        [("If-None-Match", etag), ("If-Modified-Since", lastModified)].compactMap { name, value in
            value.map { (name, $0) }
        }
    }
}

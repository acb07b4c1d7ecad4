package import Commands

/// The inbox of a store: commands that transactions of other programs have submitted by SQL, until the coordinator moves them on.
///
/// Their ids are known to their programs. So each becomes a command of its id: one that may run; or one that has ended in
/// `tooManyTimes`, a dead letter with the reason of the refusal; or in `cancelled`, where an equal command holds its unique key
/// or its deadline has passed. Default: a store has none.
package protocol InboxStore: ShardedStore {
    var hasInbox: Bool { get }
    /// Whether a command that the store does not have yet waits to be moved on.
    func isInInbox(_ id: CommandID) throws(StoreError) -> Bool
    /// Takes the oldest entries out of the inbox and inserts their commands, each entry with its command in one transaction. A
    /// call that fails leaves the entries that were not moved.
    ///
    /// The order of entries that are visible is that of their calls. An entry becomes visible at the commit of its transaction.
    /// - Parameters:
    ///   - look: which entries are looked at.
    ///   - limit: of entries.
    ///   - check: makes the drafts of entries, in their order, outside of a transaction. It may read files.
    func moveInbox(
        _ look: InboxLook, limit: Int, _ check: ([InboxEntry]) throws(StoreError) -> [InboxVerdict]
    ) throws(StoreError) -> InboxRound
}

/// The part of an inbox that is looked at.
package enum InboxLook: Sendable, Hashable {
    /// The whole inbox. Under a transaction that is open for long this steps over every entry that was deleted since.
    case whole
    /// The entries whose calls came after the last look at the whole inbox but one.
    case recent
}

/// A command that was submitted by SQL.
package struct InboxEntry: Sendable, Equatable {
    package var id: CommandID
    package var type: String
    /// JSON.
    package var payload: [UInt8]
    /// A JSON object: the members of a line of `sluice submit -` other than its payload.
    package var options: [UInt8]

    package init(id: CommandID, type: String, payload: [UInt8], options: [UInt8]) {
        self.id = id
        self.type = type
        self.payload = payload
        self.options = options
    }
}

/// Whether an entry of an inbox can become a command that runs.
package enum InboxVerdict: Sendable {
    case draft(CommandDraft)
    /// - Parameters:
    ///   - reason: a sentence for its producer.
    ///   - draft: what is known of the command, for the dead letter.
    case refused(reason: String, draft: CommandDraft)
}

/// The commands that a call has moved out of an inbox.
package struct InboxRound: Sendable {
    /// All commands that were made.
    package var ids: [CommandID] = []
    /// Those that may run now.
    package var ready: [ReadyCommand] = []
    /// Other ready commands with a higher quality of service, see ``Submission/changed``.
    package var changed: [CommandID] = []
    /// The types of the commands that were not refused.
    package var accepted: [String] = []
    /// The commands that are dead letters, with their reasons.
    package var refused: [(id: CommandID, reason: String)] = []
    /// Why some entries were not moved, which stay; nil where all were.
    package var problem: StoreError?
    /// There may be more entries.
    package var hasMore = false

    package init() {}
}

extension InboxStore {
    package var hasInbox: Bool { false }

    package func isInInbox(_ id: CommandID) throws(StoreError) -> Bool { false }

    package func moveInbox(
        _ look: InboxLook, limit: Int, _ check: ([InboxEntry]) throws(StoreError) -> [InboxVerdict]
    ) throws(StoreError) -> InboxRound { InboxRound() }
}

/// How a command is related to others: which tables have rows of it. Empty for a command that waits for none, and that
/// none waits for; such a command costs nothing more than one comparison.
///
/// The raw value is the column `relations`.
struct CommandRelations: OptionSet, Sendable {
    let rawValue: Int

    /// It has a row in `node`: it waits or waited for others, is a part of a flow, or is a flow.
    static let node = CommandRelations(rawValue: 1)
    /// Others wait for it: it is the parent of rows in `dependency`.
    static let parent = CommandRelations(rawValue: 2)
    /// It is a flow: it has a row in `flow`.
    static let flow = CommandRelations(rawValue: 4)
    /// It is a node or a callback of a flow, and is deleted with it.
    static let member = CommandRelations(rawValue: 8)
    /// It has an ordering key: `lane` and `waiter` may have rows of it.
    static let lane = CommandRelations(rawValue: 16)
    /// It is a batch.
    static let batch = CommandRelations(rawValue: 32)
    /// It is a member of a batch, whose part counts it.
    static let batchMember = CommandRelations(rawValue: 64)
    /// Commands of other shards wait for it: `remote_dependant` may have rows of it.
    static let watched = CommandRelations(rawValue: 128)
    /// It holds its ordering key also when it has been given up, until a person retries or cancels it.
    static let holdsKeyOnFailure = CommandRelations(rawValue: 256)

    /// It ends when others have ended, and no worker runs it.
    var isComposite: Bool { !isDisjoint(with: [.flow, .batch]) }
}

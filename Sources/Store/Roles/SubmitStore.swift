package import Commands

/// The calls of a producer.
package protocol SubmitStore: ShardedStore {
    /// Makes commands durable. When this returns, every `.success` is on disk (`synchronous=FULL`).
    ///
    /// The drafts of one shard share a transaction. The shards commit one after the other or in parallel, and
    /// a shard that fails affects only its own drafts.
    ///
    /// A draft whose unique key is held returns the command that holds the key, or `conflict` where that
    /// command has another payload or destination. A key whose period has lapsed goes to the draft
    /// in the transaction of the insert. The shard of a command follows from its unique key, so a key that is
    /// unique in its shard is unique.
    /// - Parameter allowUnknownTypes: accepts types that no worker has ever been able to run.
    /// - Returns: one result for each draft, in order.
    func submit(_ drafts: [CommandDraft], allowUnknownTypes: Bool) -> [Result<Submission, StoreError>]

    /// Makes a flow durable: its row, its nodes and its callbacks, in one transaction.
    /// - Returns: the flow, or an equal one that holds its unique key.
    /// - Throws: `invalid`, `conflict`, and the errors of any write.
    func submit(_ flow: FlowPlan, allowUnknownTypes: Bool) throws(StoreError) -> FlowSubmission

    /// Makes a batch durable, which takes members until ``seal(_:)``.
    /// - Throws: `invalid`, and the errors of any write. Every shard must be writable.
    func open(_ batch: BatchDraft, allowUnknownTypes: Bool) throws(StoreError) -> CommandID
    /// Lets no more members into a batch. It ends when the last member has. Call it again where it throws.
    func seal(_ batch: CommandID) throws(StoreError)

    /// The known types: those that a worker can run, or once could. See ``record(types:)``.
    func types() throws(StoreError) -> Set<String>
    /// Adds known types. The coordinator calls it when a worker registers.
    func record(types: Set<String>) throws(StoreError)
}

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

/// Whether the rate limits that drafts name exist. Reads the settings only where a draft names one.
struct LimitCheck {
    private var names: Set<String> = []
    private var failure: StoreError?

    init(_ drafts: some Sequence<CommandDraft>, in store: some SettingStore) {
        guard drafts.contains(where: { $0.limit != nil }) else { return }
        do throws(StoreError) {
            names = Set(try store.rateLimits().keys)
        } catch {
            failure = error
        }
    }

    /// Why a draft is refused; nil where its limit exists, or where it names none.
    func problem(of draft: CommandDraft) -> StoreError? {
        guard let name = draft.limit else { return nil }
        if let failure { return failure }
        return names.contains(name) ? nil : .unknownLimit(name, known: names)
    }

    /// - Throws: for the first node whose limit does not exist.
    func check(_ plan: FlowPlan) throws(StoreError) {
        for node in plan.nodes {
            guard var problem = problem(of: node.draft) else { continue }
            problem.message = "Node “\(node.name)”: \(problem.message)"
            throw problem
        }
        for callback in plan.flow.callbacks {
            if let problem = problem(of: callback.draft) { throw problem }
        }
    }
}

extension StoreError {
    package static func unknownLimit(_ name: String, known: some Collection<String>) -> StoreError {
        let near = NearestName.suggestion(for: name, among: known.sorted())
        let advice = near.isEmpty ? "; “sluice limit set \(name) --starts RATE” makes it." : near
        return StoreError(.invalid, "There is no rate limit “\(name)”\(advice)")
    }
}

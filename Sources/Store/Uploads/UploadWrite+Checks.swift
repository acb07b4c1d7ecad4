internal import Commands

extension UploadWrite {
    /// Whether the write makes the shard much larger.
    var addsBytes: Bool {
        switch self {
        case .create, .store, .complete: true
        case .advance, .end, .dropBytes, .postpone, .remove: false
        }
    }

    /// The checks of a submit that need no transaction.
    /// - Returns: the digest of the draft; nil where its unique key needs none.
    func check(in store: some CommandStore, shard: Int) -> Result<[UInt8]?, StoreError> {
        guard id.shard(of: store.shardCount) == shard else {
            return .failure(StoreError(.invalid, "Upload \(id) does not lie in shard \(shard).", id: id))
        }
        switch submission {
        case nil: return .success(nil)
        case .command(let draft):
            let problem =
                draft.problem ?? draft.dependencyProblem ?? LimitCheck([draft], in: store).problem(of: draft)
                ?? problem(of: submission?.shardByte, shardCount: store.shardCount)
            if let problem { return .failure(problem) }
            guard draft.dependencies.isEmpty else {
                return .failure(StoreError(.invalid, "The command of an upload waits for no other.", id: id))
            }
            return .success(draft.digest)
        case .flow(let plan):
            let draft = plan.draft
            let problem =
                draft.problem ?? plan.problem ?? problem(of: submission?.shardByte, shardCount: store.shardCount)
            if let problem { return .failure(problem) }
            do throws(StoreError) {
                try LimitCheck(plan.drafts, in: store).check(plan)
                return .success(draft.digest)
            } catch {
                return .failure(error)
            }
        }
    }

    /// A key outside of its shard would not be unique.
    private func problem(of byte: UInt8?, shardCount: Int) -> StoreError? {
        guard let byte, Int(byte) & (shardCount - 1) != id.shard(of: shardCount) else { return nil }
        return StoreError(.invalid, "Upload \(id) does not lie in the shard of its key.", id: id)
    }
}

extension FlowPlan {
    /// Ids for its nodes and callbacks, in ascending order.
    func newIDs(shardByte: UInt8, now: Timestamp) -> [CommandID] {
        var random = BufferedRandom()
        return (0..<nodes.count + flow.callbacks.count).map { _ in
            CommandID(now: now, shardByte: shardByte, using: &random)
        }.sorted()
    }
}

extension StoreError {
    static func uploadsNeedMigration(shard: Int) -> StoreError {
        StoreError(
            .overloaded,
            "Shard \(shard) has the version of an earlier release, which has no uploads. The coordinator migrates the store "
                + "when no worker of that release runs; try again then.", shard: shard)
    }
}

internal import Commands

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

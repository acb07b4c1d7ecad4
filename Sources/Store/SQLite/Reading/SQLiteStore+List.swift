package import Commands
package import Host

extension SQLiteStore {
    /// Candidates of a shard that are looked at in one transaction.
    private static let maxSlice = 1000
    private static let minSlice = 16
    private static let firstSearchSlice = 128

    package func page(
        _ filter: CommandFilter, order: CommandOrder, after: CommandID?, limit: Int, until: MonotonicTime?
    ) throws(StoreError) -> CommandPage {
        let limit = min(max(limit, 0), 1000)
        let sorted = ListPlan.maxSorted / shardCount
        let plans = try mapShards(or: ListPlan?.none) { shard throws(StoreError) in
            try shards[shard].use { connection throws(StoreError) in
                try connection.listPlan(filter, maxSorted: sorted)
            }
        }
        var merge = ListMerge(shards: shardCount, after: after, order: order)
        var sizes = plans.map { plan in
            plan?.isExact ?? true ? max(limit / shardCount * 5 / 4, Self.minSlice) : Self.firstSearchSlice
        }
        var page = CommandPage()
        var reads = 0
        while page.commands.count < limit {
            switch merge.next() {
            case .end: return page
            case .command(let command): page.commands.append(command)
            case .read(let shard, let position):
                // Each shard gets a slice, so that every call goes on.
                if reads >= shardCount, let until, MonotonicTime.now >= until {
                    page.next = merge.frontier ?? after
                    return page
                }
                let size = sizes[shard]
                let slice = try ifUsable { () throws(StoreError) -> ListSlice? in
                    guard let plan = plans[shard] else { return nil }
                    return try shards[shard].use { connection throws(StoreError) in
                        try connection.slice(plan, filter, order, after: position, limit: size)
                    }
                }
                sizes[shard] = min(size * 2, Self.maxSlice)
                page.scanned += slice??.scanned ?? 0
                merge.add(slice ?? nil, shard: shard)
                reads += 1
            }
        }
        page.next = page.commands.last?.id ?? after
        return page
    }

    /// How SQLite finds the commands of a filter in each shard, in the words of `EXPLAIN QUERY PLAN`: for tests.
    package func explainList(_ filter: CommandFilter, order: CommandOrder) throws(StoreError) -> [[String]] {
        try mapShards(or: []) { shard throws(StoreError) in
            try shards[shard].use { connection throws(StoreError) in
                let plan = try connection.listPlan(filter, maxSorted: ListPlan.maxSorted / shardCount)
                return plan.ranges.isEmpty ? [] : try connection.explain(plan, order)
            }
        }
    }
}

internal import Commands
internal import Console
internal import Glibc
internal import Store

/// The rate at which commands with ordering keys, rate limits or a batch are drained, relative to others in the same run.
struct RelatedDrainBench {
    let workspace: BenchWorkspace
    let workers: Int

    private static let rounds = 3

    /// 10,000 keys with ten commands each, and one key.
    func keys() throws -> [BenchResult] {
        let count = 100_000
        let share = try compare(count) { _, drafts in
            for index in drafts.indices { drafts[index].orderingKey = "key \(index % 10_000)" }
        }
        let one = try rate(3000) { _, drafts in
            for index in drafts.indices { drafts[index].orderingKey = "key" }
        }
        return [
            BenchResult(
                "10,000 ordering keys with 10 commands each", share.value, "%", goal: .atLeast(60),
                note: "of the rate without keys in the same run; \(share.note)"),
            BenchResult("one ordering key", one, "/s", goal: .atLeast(800), note: "3,000 no-ops, one after the other"),
        ]
    }

    /// A batch over all shards.
    func batch() throws -> [BenchResult] {
        let share = try compare(200_000) { rig, drafts in
            let batch = try rig.store.open(BatchDraft("bench"), allowUnknownTypes: false)
            for index in drafts.indices { drafts[index].batch = batch }
        }
        return [
            BenchResult(
                "a batch of 200,000 over all shards", share.value, "%", goal: .atLeast(90),
                note: "of the rate without a batch in the same run; \(share.note)")
        ]
    }

    private func compare(
        _ count: Int, _ change: (BenchRig, inout [CommandDraft]) throws -> Void
    ) throws -> (value: Double, note: String) {
        var (plain, related): ([Double], [Double]) = ([], [])
        for _ in 0..<Self.rounds {
            plain.append(try rate(count) { _, _ in })
            related.append(try rate(count, change))
        }
        let (before, after) = (BenchResult.percentile(0.5, of: plain), BenchResult.percentile(0.5, of: related))
        return (
            after / before * 100,
            "medians of \(Self.rounds): \(Figures.grouped(Int64(after))) and \(Figures.grouped(Int64(before)))/s"
        )
    }

    /// Commands a second, from the first success on.
    private func rate(_ count: Int, _ change: (BenchRig, inout [CommandDraft]) throws -> Void) throws -> Double {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        var drafts = [CommandDraft](repeating: BenchRig.noop(), count: count)
        try change(rig, &drafts)
        for start in stride(from: 0, to: count, by: 10_000) {
            let page = Array(drafts[start..<min(start + 10_000, count)])
            for result in rig.store.submit(page, allowUnknownTypes: false) { _ = try result.get() }
        }
        let coordinator = try rig.coordinator()
        let fleet = try (0..<workers).map { _ in try rig.worker() }
        try BenchClock.wait("the first success", seconds: 60) { try rig.successes() > 0 }
        let (begin, first) = (BenchClock.now, try rig.successes())
        try BenchClock.wait("the last success", seconds: 300) { try rig.successes() >= count }
        let duration = BenchClock.now - begin
        for process in fleet + [coordinator] { process.stop() }
        return Double(count - first) / max(duration, 0.001)
    }
}

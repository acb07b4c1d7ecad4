internal import Commands
internal import Console
internal import Host
internal import Store

/// JSON lines through a whole `sluice submit -` process: start, parse, check, commit, print.
struct BulkBench {
    let workspace: BenchWorkspace
    var lines = 500_000

    func run() throws -> [BenchResult] {
        let path = "\(workspace.path)/lines"
        var text = ""
        text.reserveCapacity(lines * 40)
        for _ in 0..<lines { text += "{\"payload\":{\"milliseconds\":0}}\n" }
        try SmallFile.write(text, to: path)
        var best = 0.0
        var rates: [Double] = []
        for _ in 0..<3 {
            let rig = try BenchRig(workspace)
            defer { rig.clear() }
            let begin = BenchClock.now
            let process = try BenchProcess(
                executable: Executable.path,
                arguments: ["submit", CommandType.noop, "-", "--data", rig.directory.path],
                errors: "\(workspace.path)/bulk-errors", input: path)
            try process.succeed("the bulk submit")
            let rate = Double(lines) / (BenchClock.now - begin)
            rates.append(rate)
            best = max(best, rate)
            guard try rig.store.counts()[.new] == lines else {
                throw ExitError(.internalError, "not all lines of the bulk are in the store")
            }
        }
        return [
            BenchResult(
                "bulk submit, JSON lines", BenchResult.percentile(0.5, of: rates), "/s", goal: .atLeast(100_000),
                note: "\(Figures.grouped(Int64(lines))) lines, start of the process included, median of 3, best "
                    + Figures.grouped(Int64(best)))
        ]
    }
}

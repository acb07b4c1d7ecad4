internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Store

/// Single submits with the library, each durable before the next, compared with the disk alone.
struct SingleBench {
    let workspace: BenchWorkspace
    var seconds = 5.0

    func run() throws -> [BenchResult] {
        var raw: [Double] = []
        var one: [Double] = []
        var eight: [Double] = []
        // In turns, so that a slow moment of the machine affects all three.
        for _ in 0..<3 {
            raw.append(try appendAndSync())
            one.append(try submit(processes: 1))
            raw.append(try appendAndSync())
            eight.append(try submit(processes: 8))
        }
        func median(_ values: [Double]) -> Double { BenchResult.percentile(0.5, of: values) }
        let base = median(raw)
        return [
            BenchResult("append + fdatasync", base, "/s", note: "of 4 KB to one file, in this run"),
            BenchResult("single submits, 1 process", median(one), "/s"),
            BenchResult(
                "  of append + fdatasync", median(one) / base * 100, "%", goal: .atLeast(45)),
            BenchResult("single submits, 8 processes", median(eight), "/s"),
            BenchResult("  of append + fdatasync", median(eight) / base * 100, "%", goal: .atLeast(120)),
        ]
    }

    private func submit(processes: Int) throws -> Double {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        let outputs = (0..<processes).map { "\(workspace.path)/single-\($0)" }
        let children = try outputs.map { try rig.child(["single", "--seconds", "\(seconds)"], output: $0) }
        for child in children { try child.succeed("a submitting process") }
        return outputs.reduce(0) { $0 + (Double((SmallFile.read($1) ?? "").filter(\.isNumber)) ?? 0) }
    }

    private func appendAndSync() throws -> Double {
        let path = "\(workspace.path)/raw"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ExitError(.cannotCreate, "\(SystemError("create", path))")
        }
        defer {
            close(descriptor)
            unlink(path)
        }
        let block = [UInt8](repeating: 0x5A, count: 4096)
        let begin = BenchClock.now
        var count = 0
        while BenchClock.now - begin < 2 {
            guard write(descriptor, block, block.count) == block.count, fdatasync(descriptor) == 0 else {
                throw ExitError(.cannotWrite, "\(SystemError("write", path))")
            }
            count += 1
        }
        return Double(count) / (BenchClock.now - begin)
    }
}

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

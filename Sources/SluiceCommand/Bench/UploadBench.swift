internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Store

/// Transfers to an nginx on loopback, compared with curl and rclone in the same run.
struct UploadBench {
    private let workspace: BenchWorkspace
    private let largeSize: Int64
    private let smallCount: Int
    private let smallSize = 65_536
    private let slowSize: Int64

    /// - Parameter percent: of one file of 2 GB, 5,000 files of 64 KB, and 64 of 1 GB.
    init(workspace: BenchWorkspace, percent: Int) {
        self.workspace = workspace
        largeSize = 20_000_000 * Int64(percent)
        smallCount = 50 * percent
        // Large enough that the uploads still run when they are measured.
        slowSize = max(10_000_000 * Int64(percent), 50_000_000)
    }

    // MARK: One large file

    func large() throws -> [BenchResult] {
        let server = try BenchServer(workspace: workspace)
        defer { server.stop() }
        let source = "\(workspace.path)/large"
        try makeFile(source, size: largeSize)
        guard let curl = Self.find("curl") else { return [missing("curl")] }
        var curlTimes: [Double] = []
        var ownTimes: [Double] = []
        for _ in 0..<5 {
            server.empty()
            ProcessorTime.untilIdle()
            let begin = BenchClock.now
            let process = try workspace.start(
                ["-sS", "--fail", "-T", source, server.url + "curl"], executable: curl)
            try process.succeed("curl")
            curlTimes.append(BenchClock.now - begin)
            server.empty()
            ownTimes.append(try put([source], to: server.url + "own"))
        }
        unlink(source)
        server.empty()
        let curlTime = BenchResult.percentile(0.5, of: curlTimes)
        let ownTime = BenchResult.percentile(0.5, of: ownTimes)
        let megabytes = Double(largeSize) / 1e6
        let size = Figures.bytes(largeSize)
        return [
            BenchResult(
                "one file of \(size), curl -T", megabytes / curlTime, "MB/s",
                note: "median of 5; \(Self.version(of: curl, "--version", in: workspace))"),
            BenchResult(
                "one file of \(size), sluice put", megabytes / ownTime, "MB/s",
                note: "start of put to success; \(server.version)"),
            BenchResult("  of curl", curlTime / ownTime * 100, "%", goal: .atLeast(90)),
        ]
    }

    // MARK: Many small files

    func small() throws -> [BenchResult] {
        let server = try BenchServer(workspace: workspace)
        defer { server.stop() }
        let folder = "\(workspace.path)/small"
        mkdir(folder, 0o700)
        let files = (0..<smallCount).map { "\(folder)/\($0)" }
        for file in files { try makeFile(file, size: Int64(smallSize)) }
        let rclone = Self.find("rclone")
        var cloneTimes: [Double] = []
        var ownTimes: [Double] = []
        var trouble: BenchResult? = rclone == nil ? missing("rclone") : nil
        for _ in 0..<2 {
            if let rclone, trouble == nil {
                do {
                    cloneTimes.append(try copy(folder, to: server, with: rclone))
                } catch {
                    // Without a comparison the figure of sluice is still measured.
                    trouble = BenchResult(
                        "rclone failed", 0, "", note: String((ExitError(error).message ?? "").prefix(160)))
                }
            }
            server.empty()
            ownTimes.append(try put(files, to: server.url))
        }
        server.empty()
        let own = Double(smallCount) / BenchResult.percentile(0.5, of: ownTimes)
        let name = "\(Figures.grouped(Int64(smallCount))) files of \(Figures.bytes(Int64(smallSize)))"
        let ownResult = BenchResult(
            "\(name), sluice put", own, "/s", note: "start of put to the last success, 2 workers")
        if let trouble { return [trouble, ownResult] }
        let clone = Double(smallCount) / BenchResult.percentile(0.5, of: cloneTimes)
        return [
            BenchResult(
                "\(name), rclone --transfers 32", clone, "/s",
                note:
                    "\(rclone.map { Self.version(of: $0, "version", in: workspace) } ?? ""): its WebDAV client makes 100 calls "
                    + "a second at most"),
            ownResult,
            BenchResult("  of rclone", own / clone, "x", goal: .atLeast(2)),
        ]
    }

    /// - Returns: seconds.
    private func copy(_ folder: String, to server: BenchServer, with rclone: String) throws -> Double {
        server.empty()
        let begin = BenchClock.now
        let process = try workspace.start(
            [
                "copy", folder, ":webdav:", "--webdav-url", server.url, "--webdav-vendor", "other", "--transfers", "32",
                "--no-check-dest", "--ignore-times", "--config", "/dev/null",
            ], executable: rclone)
        try process.succeed("rclone")
        return BenchClock.now - begin
    }

    /// - Returns: seconds from the start of `put` to the last success.
    private func put(_ files: [String], to url: String) throws -> Double {
        let rig = try BenchRig(workspace)
        defer { rig.removeData() }
        let processes = [try rig.coordinator()] + (try (0..<2).map { _ in try rig.worker() })
        defer { for process in processes { process.kill(SIGKILL) } }
        try rig.untilReady(workers: 2)
        ProcessorTime.untilIdle()
        let begin = Timestamp.now
        let process = try workspace.start(["put", "--to", url, "--data", rig.directory.path] + files)
        try process.succeed("sluice put")
        try BenchClock.wait("the uploads", seconds: 600) {
            let counts = try rig.store.counts()
            if counts[.tooManyTimes] > 0 { throw ExitError(.internalError, "an upload of the bench has failed") }
            return counts[.success] == files.count
        }
        var last = begin
        for shard in 0..<rig.store.shardCount {
            let newest = try rig.store.lastTransition(shard: shard)
            for event in try rig.store.events(shard: shard, after: max(newest - 1000, 0), limit: 1000).events
            where event.transition.status == .success {
                last = max(last, event.transition.at)
            }
        }
        for process in processes { process.stop() }
        return max(Double(last.milliseconds - begin.milliseconds), 1) / 1000
    }

    // MARK: Memory

    /// A worker that runs 64 uploads of 1 GB to a receiver that reads slowly.
    func memory() throws -> [BenchResult] {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        let port = try BenchServer.freePort()
        let sink = try rig.child(["sink", "--port", "\(port)"])
        defer { sink.kill(SIGKILL) }
        let folder = "\(workspace.path)/sparse"
        mkdir(folder, 0o700)
        let files = (0..<64).map { "\(folder)/\($0)" }
        for file in files {
            try SmallFile.write("", to: file)
            guard truncate(file, off_t(slowSize)) == 0 else {
                throw ExitError(.cannotWrite, "\(SystemError("enlarge", file))")
            }
        }
        _ = try rig.coordinator()
        let worker = try rig.worker(concurrency: 128)
        try rig.untilReady(workers: 1)
        let process = try workspace.start(
            ["put", "--to", "http://127.0.0.1:\(port)/", "--data", rig.directory.path] + files)
        try process.succeed("sluice put")
        try BenchClock.wait("64 running uploads", seconds: 30) { try rig.store.counts()[.sent] == 64 }
        BenchClock.sleep(8)
        guard try rig.store.counts()[.sent] == 64, let memory = worker.memory else {
            throw ExitError(.internalError, "the 64 uploads of the bench did not run at the same time")
        }
        return [
            BenchResult(
                "worker: peak memory, 64 uploads of \(Figures.bytes(slowSize))", Double(memory.peak) / 1e6, "MB",
                goal: .atMost(60),
                note: "VmHWM"),
            BenchResult(
                "  of it in proportion to its users", Double(memory.proportional) / 1e6, "MB",
                note: "PSS after 8 s"),
        ]
    }

    // MARK: Tools and files

    private func missing(_ tool: String) -> BenchResult {
        BenchResult("\(tool) is not installed", 0, "", note: "no comparison without it: apt install \(tool)")
    }

    /// A file of noise, which no layer can compress or leave out as it can with zeros.
    private func makeFile(_ path: String, size: Int64) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ExitError(.cannotCreate, "\(SystemError("create", path))")
        }
        defer {
            // On the disk before anything is measured.
            fsync(descriptor)
            close(descriptor)
        }
        // Noise by SplitMix64 (Steele, Lea, Flood 2014): the system's random numbers cost a call for each eight bytes.
        var state = UInt64.random(in: 0...UInt64.max)
        let block = (0..<Int(min(size / 8 + 1, 131_072))).map { _ -> UInt64 in
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
            return word ^ word >> 31
        }
        var left = size
        while left > 0 {
            let written = block.withUnsafeBytes { write(descriptor, $0.baseAddress, min($0.count, Int(left))) }
            guard written > 0 else {
                throw ExitError(.cannotWrite, "\(SystemError("write", path))")
            }
            left -= Int64(written)
        }
    }

    /// The name of a tool and the first number in the output of its version option.
    static func version(of tool: String, _ option: String, in workspace: BenchWorkspace) -> String {
        let name = tool.split(separator: "/").last.map(String.init) ?? tool
        let output = workspace.newDirectory()
        defer { unlink(output) }
        // nginx prints it on standard error.
        let script = #"exec "$0" "$1" 2>&1"#
        guard let process = try? workspace.start(["-c", script, tool, option], executable: "/bin/sh", output: output)
        else {
            return name
        }
        process.wait()
        let words = (SmallFile.read(output) ?? "").split { $0.isWhitespace || $0 == "/" }
        return words.first { $0.contains(where: \.isNumber) }.map { "\(name) \($0)" } ?? name
    }

    static func find(_ tool: String) -> String? {
        for folder in ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/bin", "/sbin"]
        where access("\(folder)/\(tool)", X_OK) == 0 {
            return "\(folder)/\(tool)"
        }
        return nil
    }
}

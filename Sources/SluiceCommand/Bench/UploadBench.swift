internal import Commands
internal import Console
internal import Glibc
internal import Store

/// Transfers to an nginx of its own on loopback, beside curl and rclone in the same run.
struct UploadBench {
    private let directory: BenchDirectory
    private let largeSize: Int64
    private let smallCount: Int
    private let smallSize = 65_536
    private let slowSize: Int64

    /// - Parameter percent: of one file of 2 GB, 5,000 files of 64 KB, and 64 of 1 GB.
    init(directory: BenchDirectory, percent: Int) {
        self.directory = directory
        largeSize = 20_000_000 * Int64(percent)
        smallCount = 50 * percent
        // Under way for longer than it takes to look at them.
        slowSize = max(10_000_000 * Int64(percent), 50_000_000)
    }

    // MARK: One large file

    func large() throws -> [BenchResult] {
        let server = try BenchServer(directory: directory)
        defer { server.stop() }
        let source = "\(directory.path)/large"
        try makeFile(source, size: largeSize)
        guard let curl = Self.find("curl") else { return [missing("curl")] }
        var curlTimes: [Double] = []
        var ownTimes: [Double] = []
        for _ in 0..<5 {
            server.empty()
            ProcessorTime.untilIdle()
            let begin = BenchClock.now
            let process = try directory.start(
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
                note: "median of 5; \(Self.version(of: curl, "--version", in: directory))"),
            BenchResult(
                "one file of \(size), sluice put", megabytes / ownTime, "MB/s",
                note: "start of put to success; \(server.version)"),
            BenchResult("  of curl", curlTime / ownTime * 100, "%", goal: .atLeast(90)),
        ]
    }

    // MARK: Many small files

    func small() throws -> [BenchResult] {
        let server = try BenchServer(directory: directory)
        defer { server.stop() }
        let folder = "\(directory.path)/small"
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
                    // What there is to compare with has failed; what is to be measured has not.
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
                    "\(rclone.map { Self.version(of: $0, "version", in: directory) } ?? ""): its WebDAV client makes 100 calls "
                    + "a second at most"),
            ownResult,
            BenchResult("  of rclone", own / clone, "x", goal: .atLeast(2)),
        ]
    }

    /// - Returns: seconds.
    private func copy(_ folder: String, to server: BenchServer, with rclone: String) throws -> Double {
        server.empty()
        let begin = BenchClock.now
        let process = try directory.start(
            [
                "copy", folder, ":webdav:", "--webdav-url", server.url, "--webdav-vendor", "other", "--transfers", "32",
                "--no-check-dest", "--ignore-times", "--config", "/dev/null",
            ], executable: rclone)
        try process.succeed("rclone")
        return BenchClock.now - begin
    }

    /// - Returns: seconds from the start of `put` to the last success.
    private func put(_ files: [String], to url: String) throws -> Double {
        let rig = try BenchRig(directory)
        defer { rig.removeData() }
        let processes = [try rig.coordinator()] + (try (0..<2).map { _ in try rig.worker() })
        defer { for process in processes { process.kill(SIGKILL) } }
        try rig.untilReady(workers: 2)
        ProcessorTime.untilIdle()
        let begin = Timestamp.now
        let process = try directory.start(["put", "--to", url, "--data", rig.directory.path] + files)
        try process.succeed("sluice put")
        try BenchClock.wait("the uploads", seconds: 600) {
            let counts = try rig.store.counts()
            if counts[.tooManyTimes] > 0 { throw ExitError(.internalError, "an upload of the bench has failed") }
            return counts[.success] == files.count
        }
        var last = begin
        for shard in 0..<rig.store.shardCount {
            guard let newest = try rig.store.transitionRange(shard: shard)?.upperBound else { continue }
            for event in try rig.store.events(shard: shard, after: max(newest - 1000, 0), limit: 1000)
            where event.transition.status == .success {
                last = max(last, event.transition.at)
            }
        }
        for process in processes { process.stop() }
        return max(Double(last.milliseconds - begin.milliseconds), 1) / 1000
    }

    // MARK: Memory

    /// A worker with 64 uploads of 1 GB under way, to a receiver that reads slowly.
    func memory() throws -> [BenchResult] {
        let rig = try BenchRig(directory)
        defer { rig.clear() }
        let port = try BenchServer.freePort()
        let sink = try rig.child(["sink", "--port", "\(port)"])
        defer { sink.kill(SIGKILL) }
        let folder = "\(directory.path)/sparse"
        mkdir(folder, 0o700)
        let files = (0..<64).map { "\(folder)/\($0)" }
        for file in files {
            try SmallFile.write("", to: file)
            guard truncate(file, off_t(slowSize)) == 0 else {
                throw ExitError(.cannotWrite, "\(file) cannot be made large: \(String(cString: strerror(errno)))")
            }
        }
        _ = try rig.coordinator()
        let worker = try rig.worker(concurrency: 128)
        try rig.untilReady(workers: 1)
        let process = try directory.start(
            ["put", "--to", "http://127.0.0.1:\(port)/", "--data", rig.directory.path] + files)
        try process.succeed("sluice put")
        try BenchClock.wait("64 uploads under way", seconds: 30) { try rig.store.counts()[.sent] == 64 }
        BenchClock.sleep(8)
        guard try rig.store.counts()[.sent] == 64, let memory = worker.memory else {
            throw ExitError(.internalError, "the 64 uploads of the bench were not under way together")
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

    // MARK: Means

    private func missing(_ tool: String) -> BenchResult {
        BenchResult("\(tool) is not installed", 0, "", note: "nothing to compare with: apt install \(tool)")
    }

    /// Pages that are no zeroes, so that nothing can be clever about them.
    private func makeFile(_ path: String, size: Int64) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ExitError(.cannotCreate, "\(path) cannot be made: \(String(cString: strerror(errno)))")
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
                throw ExitError(.cannotWrite, "\(path) cannot be written: \(String(cString: strerror(errno)))")
            }
            left -= Int64(written)
        }
    }

    /// The name of a tool and the first number that it says of itself.
    static func version(of tool: String, _ option: String, in directory: BenchDirectory) -> String {
        let name = tool.split(separator: "/").last.map(String.init) ?? tool
        let output = directory.newDirectory()
        defer { unlink(output) }
        // nginx says it on standard error.
        let script = #"exec "$0" "$1" 2>&1"#
        guard let process = try? directory.start(["-c", script, tool, option], executable: "/bin/sh", output: output) else {
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

/// An nginx with WebDAV of the bench's own, on a free loopback port.
struct BenchServer {
    let url: String
    /// `nginx 1.22.1`
    let version: String
    private let folder: String
    private let process: BenchProcess

    init(directory: BenchDirectory) throws {
        guard let nginx = UploadBench.find("nginx") else {
            throw ExitError(.unavailable, "nginx is not installed: apt install nginx-full libnginx-mod-http-dav-ext")
        }
        version = UploadBench.version(of: nginx, "-v", in: directory)
        let port = try Self.freePort()
        folder = "\(directory.path)/www"
        for path in [folder, "\(directory.path)/nginx"] { mkdir(path, 0o700) }
        let root = "\(directory.path)/nginx"
        // rclone asks by PROPFIND, which nginx answers with this module of Debian's (libnginx-mod-http-dav-ext).
        let module = "/usr/lib/nginx/modules/ngx_http_dav_ext_module.so"
        let hasModule = access(module, R_OK) == 0
        // As the user who runs the bench: nobody else may read the temporary directory.
        try SmallFile.write(
            """
            \(hasModule ? "load_module \(module);" : "")
            \(geteuid() == 0 ? "user root;" : "")
            daemon off; worker_processes 2; pid \(root)/pid; error_log \(root)/error.log;
            events { worker_connections 4096; }
            http {
              access_log off; client_max_body_size 0; client_body_buffer_size 128k;
              client_body_temp_path \(folder)/.body; proxy_temp_path \(root)/proxy; fastcgi_temp_path \(root)/fastcgi;
              uwsgi_temp_path \(root)/uwsgi; scgi_temp_path \(root)/scgi;
              server {
                listen 127.0.0.1:\(port) backlog=4096; root \(folder);
                location / {
                  dav_methods PUT DELETE MKCOL COPY MOVE; create_full_put_path on;
                  \(hasModule ? "dav_ext_methods PROPFIND OPTIONS;" : "")
                }
              }
            }

            """, to: "\(root)/conf")
        process = try directory.start(["-c", "\(root)/conf", "-e", "\(root)/error.log"], executable: nginx)
        url = "http://127.0.0.1:\(port)/"
        try BenchClock.wait("nginx", seconds: 10) { Self.answers(port) }
    }

    func stop() {
        process.kill(SIGTERM)
        process.wait()
    }

    /// Deletes what was uploaded.
    func empty() {
        guard let listing = opendir(folder) else { return }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { unlink("\(folder)/\(name)") }
        }
    }

    static func freePort() throws -> UInt16 {
        for _ in 0..<100 {
            let port = UInt16.random(in: 20_000..<32_000)
            if !answers(port) { return port }
        }
        throw ExitError(.internalError, "no free port was found on loopback")
    }

    private static func answers(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}

internal import CLinux
internal import Glibc
internal import Host
internal import Synchronization

/// A child process of a bench.
final class BenchProcess: Sendable {
    let pid: pid_t
    private let errors: String
    private let status = Mutex<CInt?>(nil)

    /// - Parameters:
    ///   - output: the file of its standard output; nil: /dev/null.
    ///   - errors: the file of its standard error.
    ///   - input: the file of its standard input; nil: /dev/null.
    init(
        executable: String, arguments: [String], output: String? = nil, errors: String, input: String? = nil,
        environment: [String] = []
    ) throws {
        self.errors = errors
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input ?? "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output ?? "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Children must not inherit the signals that this process ignores.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for number in [SIGINT, SIGTERM, SIGPIPE] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        // A process group of its own, because nginx's workers outlive a killed master.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

        let words = ([executable] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) }
        let own = variables
        defer { for variable in own { free(variable) } }
        var index = 0
        while let variable = environ[index] {
            variables.append(variable)
            index += 1
        }
        var pid: pid_t = 0
        let number = posix_spawn(&pid, executable, &actions, &attributes, words + [nil], variables + [nil])
        guard number == 0 else {
            throw ExitError(.internalError, "\(SystemError(number, "start", executable))")
        }
        self.pid = pid
    }

    func kill(_ number: CInt) {
        status.withLock { status in
            // Not after the wait: another process may have the pid.
            if status == nil { _ = Glibc.kill(-pid, number) }
        }
    }

    /// Waits for the end.
    /// - Returns: the exit code; 128 + the signal.
    @discardableResult
    func wait() -> CInt {
        // Without the lock, so that other threads can kill the process meanwhile; WNOWAIT keeps its pid.
        var facts = siginfo_t()
        while waitid(P_PID, id_t(pid), &facts, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return status.withLock { known in
            if let known { return known }
            var raw: CInt = 0
            while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
            let signal = raw & 0x7F
            let code = signal == 0 ? (raw >> 8) & 0xFF : 128 + signal
            known = code
            return code
        }
    }

    /// Waits for the end, and throws with its standard error where the exit code is not 0.
    func succeed(_ what: String) throws {
        let code = wait()
        guard code == 0 else {
            let said = SmallFile.read(errors).map { String($0.suffix(2000)) } ?? ""
            throw ExitError(.internalError, "\(what) ended with \(code): \(said)")
        }
    }

    func stop() {
        kill(SIGTERM)
        wait()
    }

    /// Resident memory in bytes: its peak, and the present one with each shared page divided by its users
    /// (PSS). Nil for a process that has ended.
    var memory: (peak: Int64, proportional: Int64)? {
        func field(_ name: String, of file: String) -> Int64? {
            let text = SmallFile.read("/proc/\(pid)/\(file)") ?? ""
            for line in text.split(separator: "\n") where line.hasPrefix(name) {
                return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int64($0) }
            }
            return nil
        }
        guard let peak = field("VmHWM:", of: "status"), let proportional = field("Pss:", of: "smaps_rollup") else {
            return nil
        }
        return (peak * 1024, proportional * 1024)
    }

    /// Nanoseconds of processor time so far.
    var processorTime: Int64 {
        guard let text = SmallFile.read("/proc/\(pid)/stat"), let end = text.lastIndex(of: ")") else { return 0 }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Int64(fields[11]), let system = Int64(fields[12]) else { return 0 }
        return (user + system) * 1_000_000_000 / Int64(sysconf(CInt(_SC_CLK_TCK)))
    }
}

/// Receives READY=1 of a process, as systemd does.
struct ReadyGate: ~Copyable {
    let path: String
    private let descriptor: CInt

    init(path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        unlink(path)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard descriptor >= 0, bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw ExitError(.cannotCreate, "\(path) cannot be the path of a socket: choose a shorter --directory")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let bound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0 else {
            throw ExitError(.cannotCreate, "\(SystemError("bind", path))")
        }
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    func wait(seconds: Int) throws {
        var buffer = [UInt8](repeating: 0, count: 256)
        let end = BenchClock.now + Double(seconds)
        while BenchClock.now < end {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, 100) > 0 else { continue }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0, String(decoding: buffer[..<count], as: UTF8.self).contains("READY=1") { return }
        }
        throw ExitError(.internalError, "timed out after \(seconds) s waiting for a process to be ready")
    }
}

/// The monotonic clock, for benches.
enum BenchClock {
    /// Seconds.
    static var now: Double { Double(clinux_monotonic()) / 1e9 }

    static func sleep(_ seconds: Double) {
        let end = now + seconds
        while true {
            let left = end - now
            guard left > 0 else { return }
            usleep(useconds_t(min(left, 0.5) * 1e6))
        }
    }

    /// Polls every few milliseconds.
    static func wait(_ what: String, seconds: Double, until isTrue: () throws -> Bool) throws {
        let end = now + seconds
        while try !isTrue() {
            guard now < end else {
                throw ExitError(.internalError, "timed out after \(Int(seconds)) s waiting for \(what)")
            }
            sleep(0.005)
        }
    }
}

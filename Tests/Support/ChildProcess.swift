internal import CLinux
internal import Foundation
internal import Synchronization

/// A process of a test, with its output in files. ``finish()`` kills it with its process group.
package final class ChildProcess: Sendable {
    /// The exit of a process.
    package enum Exit: Sendable, Equatable, CustomStringConvertible {
        case exited(Int32)
        case signalled(Int32)

        package var description: String {
            switch self {
            case .exited(let code): "exit code \(code)"
            case .signalled(let signal): "signal \(signal)"
            }
        }
    }

    private struct State {
        var ending: Exit?
        var waiters: [CheckedContinuation<Exit, Never>] = []
    }

    package let pid: Int32
    package let arguments: [String]
    private let outputPath: String
    private let errorPath: String
    private let state = Mutex(State())

    /// Starts a program in a new process group.
    /// - Parameters:
    ///   - arguments: the command line; the first is the path of the program.
    ///   - environment: variables that replace those of this process; nil removes one.
    ///   - directory: the working directory; nil for that of this process.
    ///   - input: the bytes of standard input; nil for none.
    ///   - terminal: the controlling terminal, and the three standard streams.
    ///   - log: the path of the output without the endings `.out` and `.err`.
    package init(
        _ arguments: [String], environment: [String: String?] = [:], directory: String? = nil, input: [UInt8]? = nil,
        terminal: Pseudoterminal? = nil, log: String
    ) throws {
        self.arguments = arguments
        outputPath = "\(log).out"
        errorPath = "\(log).err"
        var inputPath = "/dev/null"
        if let input {
            inputPath = "\(log).in"
            try Data(input).write(to: URL(fileURLWithPath: inputPath))
        }

        var variables = ProcessInfo.processInfo.environment
        for (name, value) in environment { variables[name] = value }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let terminal {
            for stream: CInt in 0...2 { posix_spawn_file_actions_addopen(&actions, stream, terminal.path, O_RDWR, 0) }
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, inputPath, O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            posix_spawn_file_actions_addopen(&actions, 2, errorPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
        // The child must not inherit descriptors of other tests.
        clinux_spawn_close_from(&actions, 3)
        if let directory { clinux_spawn_change_directory(&actions, directory) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        var allSignals = sigset_t()
        sigfillset(&allSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setsigdefault(&attributes, &allSignals)
        posix_spawnattr_setpgroup(&attributes, 0)
        // The first terminal that the leader of a session opens becomes its controlling terminal.
        let group = terminal == nil ? CInt(POSIX_SPAWN_SETPGROUP) : newSession
        posix_spawnattr_setflags(
            &attributes, Int16(CInt(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | group))

        var pid: pid_t = 0
        let status = withCStrings(arguments) { argv in
            withCStrings(variables.map { "\($0.key)=\($0.value)" }) { envp in
                posix_spawn(&pid, arguments[0], &actions, &attributes, argv, envp)
            }
        }
        guard status == 0 else { throw Missed("cannot start \(arguments[0]): \(String(cString: strerror(status)))") }
        self.pid = pid
        Thread.detachNewThread { [self] in reap() }
    }

    /// Waits without reaping first, so that ``signal(_:)`` never signals a reused process id.
    private func reap() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let (ending, waiters) = state.withLock { state in
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            let ending: Exit = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .signalled(status & 0x7F)
            state.ending = ending
            defer { state.waiters = [] }
            return (ending, state.waiters)
        }
        for waiter in waiters { waiter.resume(returning: ending) }
    }

    /// The exit of the process; nil while it runs.
    package var ending: Exit? { state.withLock { $0.ending } }

    /// Waits for the end of the process.
    package var end: Exit {
        get async {
            await withCheckedContinuation { continuation in
                let ending = state.withLock { state -> Exit? in
                    if state.ending == nil { state.waiters.append(continuation) }
                    return state.ending
                }
                if let ending { continuation.resume(returning: ending) }
            }
        }
    }

    /// Waits for the end of the process with a timeout.
    package func end(within limit: Duration) async throws -> Exit {
        try await awaited("the end of \(name)", within: limit) { ending }
    }

    /// Sends a signal unless the process has ended.
    /// - Returns: whether the signal was sent.
    @discardableResult
    package func signal(_ signal: Int32) -> Bool {
        state.withLock { $0.ending == nil && kill(pid, signal) == 0 }
    }

    /// Whether a thread of the process is blocked in write(2) to `descriptor`: two samples, 100 ms apart,
    /// find it there.
    package func isWriting(to descriptor: Int32) async throws -> Bool {
        func writers() -> Set<String> {
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
            return Set(
                tasks.filter { task in
                    // The format is “1 0x1 …”: the number of the system call and its arguments. write(2) is 1
                    // on x86-64 and 64 on arm64.
                    let call = contents(of: "/proc/\(pid)/task/\(task)/syscall") ?? []
                    let words = String(decoding: call, as: UTF8.self).split(separator: " ")
                    return words.count > 1 && ["1", "64"].contains(words[0])
                        && words[1] == "0x\(String(descriptor, radix: 16))"
                })
        }
        let first = writers()
        if first.isEmpty { return false }
        try await Task.sleep(for: .milliseconds(100))
        return !first.isDisjoint(with: writers())
    }

    /// Kills the process group and waits for the end of the process.
    package func finish() async {
        _ = state.withLock { $0.ending == nil ? kill(-pid, SIGKILL) : 0 }
        _ = await end
    }

    package var output: String { String(decoding: contents(of: outputPath) ?? [], as: UTF8.self) }
    package var errors: String { String(decoding: contents(of: errorPath) ?? [], as: UTF8.self) }

    /// The program and its first arguments, for messages.
    package var name: String {
        ([arguments[0].split(separator: "/").last.map(String.init) ?? ""] + arguments.dropFirst().prefix(2))
            .joined(separator: " ")
    }
}

/// `POSIX_SPAWN_SETSID` of glibc 2.26; not visible to Swift.
private let newSession: CInt = 0x80

/// Calls `body` with a null-terminated array of C strings.
private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
}

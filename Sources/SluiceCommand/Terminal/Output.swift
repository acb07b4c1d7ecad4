internal import CLinux
internal import Console
internal import Glibc
internal import Host
internal import Synchronization

/// Standard output: data and nothing else. Buffered; flushed when it is full, by ``flush()`` and at the end.
enum Output {
    private static let buffer = Mutex<[UInt8]>([])
    private static let limit = 65_536
    private static let ignoresClosedPipe = Atomic<Bool>(false)
    private static let isClosed = Atomic<Bool>(false)
    private static let hasWritten = Atomic<Bool>(false)

    private static let hasTerminal = isatty(STDOUT_FILENO) == 1

    static var isTerminal: Bool { CommandLineRun.current == nil && hasTerminal }

    /// For a command that does more than print: a closed pipe does not end it, and its further output is dropped.
    static func ignoreClosedPipe() { ignoresClosedPipe.store(true, ordering: .relaxed) }

    /// Tries standard output before a change that is acknowledged there, such as a submit that prints its id: without it
    /// the id of a durable command would be lost. A pipe needs its reader only before the first output: later the change
    /// is completed, as ``ignoreClosedPipe()`` says.
    /// - Parameter bytes: of the acknowledgement; a file gets that much room.
    /// - Throws: ``ExitError`` `cannotWrite`.
    static func require(bytes: Int) throws {
        if CommandLineRun.current == nil, let reason = obstacle(to: bytes) {
            throw ExitError(
                .cannotWrite,
                "cannot write to standard output: \(reason); the change was not made, because its result would be lost")
        }
    }

    private static func obstacle(to bytes: Int) -> String? {
        if clinux_was_closed(STDOUT_FILENO) != 0 { return "it is closed" }
        var facts = stat()
        guard fstat(STDOUT_FILENO, &facts) == 0 else { return SystemError().words }
        switch facts.st_mode & S_IFMT {
        case S_IFIFO, S_IFSOCK:
            var descriptor = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
            let isLost = poll(&descriptor, 1, 0) == 1 && descriptor.revents & Int16(POLLERR | POLLHUP) != 0
            return isLost && !hasWritten.load(ordering: .relaxed) ? "its reader is gone" : nil
        case S_IFREG:
            if Glibc.write(STDOUT_FILENO, "", 0) < 0 { return SystemError().words }
            let isAppending = fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND != 0
            let offset = isAppending ? facts.st_size : max(lseek(STDOUT_FILENO, 0, SEEK_CUR), 0)
            var limit = rlimit()
            if getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0,
                UInt64(clamping: offset) + UInt64(bytes) > limit.rlim_cur
            {
                return SystemError(EFBIG).reason
            }
            guard clinux_reserve(STDOUT_FILENO, offset + off_t(bytes)) != 0 else { return nil }
            // A file system without this call tells only at the write.
            return [ENOSPC, EDQUOT, EFBIG].contains(errno) ? SystemError().reason : nil
        default:
            // /dev/full refuses even nothing, and so does a descriptor that can only be read.
            return Glibc.write(STDOUT_FILENO, "", 0) < 0 ? SystemError().words : nil
        }
    }

    /// A line for people.
    static func line(_ text: String) {
        append { buffer in
            buffer.append(contentsOf: TerminalText.plain(text).utf8)
            buffer.append(UInt8(ascii: "\n"))
        }
    }

    /// Bytes as they are, such as JSON, and a line feed.
    static func line(_ bytes: [UInt8]) {
        append { buffer in
            buffer.append(contentsOf: bytes)
            buffer.append(UInt8(ascii: "\n"))
        }
    }

    /// Writes into the buffer directly, for a hundred thousand lines a second.
    static func append(_ body: (inout [UInt8]) -> Void) {
        if let run = CommandLineRun.current { return run.output.withLock { body(&$0) } }
        buffer.withLock { buffer in
            body(&buffer)
            if buffer.count >= limit { write(&buffer) }
        }
    }

    static func flush() { buffer.withLock { write(&$0) } }

    /// Flushes and ends the process, without waiting for other threads. A thread that is writing gets one
    /// second: its pipe may be full and without a reader. A success whose output was dropped ends with
    /// `cannotWrite`.
    static func finish(code: ExitCode) -> Never {
        for _ in 0..<100 {
            if buffer.withLockIfAvailable({ write(&$0) }) != nil { break }
            usleep(10_000)
        }
        guard code == .done, isClosed.load(ordering: .relaxed) else { _exit(code.rawValue) }
        Diagnostics.say("standard output was closed before everything was printed")
        _exit(ExitCode.cannotWrite.rawValue)
    }

    private static func write(_ buffer: inout [UInt8]) {
        var start = 0
        if !buffer.isEmpty, clinux_was_closed(STDOUT_FILENO) != 0 {
            guard ignoresClosedPipe.load(ordering: .relaxed) else { giveUp(EBADF) }
            isClosed.store(true, ordering: .relaxed)
        }
        while start < buffer.count, !isClosed.load(ordering: .relaxed) {
            let count = buffer.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress! + start, $0.count - start) }
            if count >= 0 {
                start += count
                hasWritten.store(true, ordering: .relaxed)
            } else if errno == EAGAIN {
                var descriptor = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                poll(&descriptor, 1, 1000)
            } else if errno == EPIPE, ignoresClosedPipe.load(ordering: .relaxed) {
                isClosed.store(true, ordering: .relaxed)
            } else if errno != EINTR {
                giveUp(errno)
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private static func giveUp(_ number: CInt) -> Never {
        // The reader has closed the pipe because it has read enough, as head(1) does.
        if number == EPIPE { _exit(ExitCode.done.rawValue) }
        Diagnostics.say("cannot write to standard output: \(SystemError(number).reason)")
        _exit(ExitCode.cannotWrite.rawValue)
    }
}

/// Standard error: everything that is not data.
enum Diagnostics {
    private static let hasTerminal = isatty(STDERR_FILENO) == 1

    static var isTerminal: Bool { CommandLineRun.current == nil && hasTerminal }

    private static let hasStatus = Mutex(false)

    static func say(_ sentence: String) {
        clearStatus()
        write("sluice: \(TerminalText.plain(sentence))\n")
    }

    /// Shows progress in the last line of the terminal, until another status or a sentence replaces it. Does
    /// nothing where standard error is not a terminal, or one that moves no cursor.
    /// - Parameter text: is given the width of the terminal, and cut to it.
    static func showStatus(_ text: (_ columns: Int) -> String) {
        guard isTerminal, !Terminal.isDumb else { return }
        let columns = Terminal.size(of: STDERR_FILENO).columns - 1
        let line = TerminalText.cut(text(columns), width: columns)
        hasStatus.withLock { hasStatus in
            hasStatus = true
            write("\r\u{1B}[2K\(line)")
        }
    }

    static func clearStatus() {
        hasStatus.withLock { hasStatus in
            if hasStatus { write("\r\u{1B}[2K") }
            hasStatus = false
        }
    }

    static func write(_ text: String) {
        if let run = CommandLineRun.current { return run.errors.withLock { $0 += text.utf8 } }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if errno != EINTR {
                // An error of standard error has no other place to go.
                return
            }
        }
    }
}

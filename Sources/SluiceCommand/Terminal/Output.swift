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

    static let isTerminal = isatty(STDOUT_FILENO) == 1

    /// For a command that does more than print: a closed pipe does not end it, and its further output is dropped.
    static func ignoreClosedPipe() { ignoresClosedPipe.store(true, ordering: .relaxed) }

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
        while start < buffer.count, !isClosed.load(ordering: .relaxed) {
            let count = buffer.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress! + start, $0.count - start) }
            if count >= 0 {
                start += count
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

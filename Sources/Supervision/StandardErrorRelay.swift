import CLinux
import Glibc
import Host
import Synchronization

/// Passes a child's standard error on to the supervisor's own, whole lines at a time, and remembers the last
/// lines.
///
/// When the supervisor's standard error takes nothing for a second, as a terminal that is held up, the relay
/// drops lines until it does. A child that waits to log does nothing else, and would count as hung. The relay
/// has its own thread. It ends when the last writer is gone, which may be a descendant of the child.
final class StandardErrorRelay: Sendable {
    private struct State {
        var lines: [String] = []
        var hasEnded = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    /// Lines remembered.
    static let maxLines = 5
    /// A longer line is passed on in pieces, and remembered in part.
    static let maxLineLength = 64 * 1024
    /// Bytes remembered of a line.
    static let maxRemembered = 500
    /// The supervisor's standard error must take something within this time.
    private static let timeout: Duration = .seconds(1)
    /// A writable pipe takes this many bytes at once (pipe(7): PIPE_BUF).
    private static let portion = 4096

    /// The child's standard error; the owner of the relay closes it after the start.
    let writeEnd: CInt
    private let readEnd: CInt
    private let destination: CInt
    private let isKnown: @Sendable (_ line: ArraySlice<UInt8>) -> Bool
    /// Bytes dropped since the supervisor's standard error last took some. Only the thread touches it.
    private let dropped = Atomic<Int>(0)
    private let state = Mutex(State())

    /// - Parameters:
    ///   - destination: the descriptor that lines go to; not closed.
    ///   - isKnown: whether a line, without its end, was passed on in an earlier run. It is remembered and not passed on.
    init(
        destination: CInt = STDERR_FILENO,
        isKnown: @escaping @Sendable (_ line: ArraySlice<UInt8>) -> Bool = { _ in false }
    ) throws(SupervisionError) {
        let ends = try Pipe.make()
        (readEnd, writeEnd) = (ends.read, ends.write)
        self.destination = destination
        self.isKnown = isKnown
        var thread = pthread_t()
        let relay = Unmanaged.passRetained(self)
        let number = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<StandardErrorRelay>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, relay.toOpaque())
        guard number == 0 else {
            relay.release()
            close(ends.read)
            close(ends.write)
            throw .system(SystemError(number, attempt: "start a thread"))
        }
        pthread_detach(thread)
    }

    /// The last lines. Waits for the end of the pipe, but only until the timeout: a descendant may hold the
    /// pipe open.
    func lastLines(timeout: Duration = .milliseconds(200)) async -> [String] {
        var timer: Task<Void, Never>?
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.hasEnded { return true }
                state.waiting = continuation
                return false
            }
            if isOver { return continuation.resume() }
            // Started only now: a timer that ended before the continuation is stored would resume nothing.
            timer = Task {
                try? await Task.sleep(for: timeout)
                resume()
            }
        }
        timer?.cancel()
        return state.withLock { $0.lines }
    }

    private func resume() {
        state.withLock { state -> CheckedContinuation<Void, Never>? in
            defer { state.waiting = nil }
            return state.waiting
        }?.resume()
    }

    private func run() {
        _ = clinux_name_thread("stderr-relay")
        var line: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = read(readEnd, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            line += buffer[..<count]
            let whole =
                line.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 }
                ?? (line.count > Self.maxLineLength ? line.count : 0)
            guard whole > 0 else { continue }
            pass(line[..<whole])
            line.removeFirst(whole)
        }
        if !line.isEmpty { pass(line[...]) }
        close(readEnd)
        state.withLock { $0.hasEnded = true }
        resume()
    }

    private func pass(_ bytes: ArraySlice<UInt8>) {
        let all = bytes.split(separator: UInt8(ascii: "\n"))
        let lines = all.suffix(Self.maxLines).map { String(decoding: $0.prefix(Self.maxRemembered), as: UTF8.self) }
        state.withLock { state in
            state.lines = Array((state.lines + lines).suffix(Self.maxLines))
        }
        let count = dropped.load(ordering: .relaxed)
        if count > 0, isReady(within: .zero) {
            dropped.store(0, ordering: .relaxed)
            put(Array("sluice: \(count) bytes of the log were not taken in time and are lost\n".utf8)[...])
        }
        guard all.contains(where: isKnown) else { return put(bytes) }
        for line in all where !isKnown(line) { put(line + [UInt8(ascii: "\n")]) }
    }

    private func put(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let isStuck = dropped.load(ordering: .relaxed) > 0
                guard isReady(within: isStuck ? .zero : Self.timeout) else {
                    dropped.add(rest.count, ordering: .relaxed)
                    return
                }
                let count = min(rest.count, Self.portion)
                let written = write(destination, UnsafeRawBufferPointer(rebasing: rest).baseAddress, count)
                if written < 0, errno == EINTR || errno == EAGAIN { continue }
                // The reader of the supervisor's standard error is gone; the child must not notice.
                guard written > 0 else { return }
                rest = rest.dropFirst(written)
            }
        }
    }

    private func isReady(within timeout: Duration) -> Bool {
        let milliseconds = CInt(clamping: timeout.nanoseconds / 1_000_000)
        var descriptor = pollfd(fd: destination, events: Int16(POLLOUT), revents: 0)
        while true {
            let count = poll(&descriptor, 1, milliseconds)
            if count < 0, errno == EINTR { continue }
            return count != 0
        }
    }
}

enum Pipe {
    /// Both ends close-on-exec.
    static func make() throws(SupervisionError) -> (read: CInt, write: CInt) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw .system(SystemError(errno, attempt: "create a pipe"))
        }
        for end in ends { _ = clinux_fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}

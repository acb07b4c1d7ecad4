import CLinux
import Glibc
import Host
import Synchronization

/// Passes a child's standard error on to our own, whole lines at a time, and remembers the last ones.
///
/// Where ours takes nothing for a second, as a terminal that is held up, lines are dropped until it does: a child that waits to
/// log does nothing else, and would be taken for hung. On a thread of its own. Ends when the last writer is gone, which may be
/// a descendant of the child.
final class StandardErrorRelay: Sendable {
    private struct State {
        var lines: [String] = []
        var hasEnded = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    static let keptLines = 5
    /// A line that is longer is passed on in pieces, and remembered in part.
    static let longestLine = 64 * 1024
    /// Milliseconds in which our standard error must take something.
    private static let timeout: CInt = 1000
    /// A pipe that can be written to takes so much at once (pipe(7): PIPE_BUF).
    private static let portion = 4096

    /// What the child gets as its standard error; its owner closes it after the start.
    let writeEnd: CInt
    private let readEnd: CInt
    private let destination: CInt
    /// Bytes that were dropped since our standard error took some. Touched by the thread alone.
    private let dropped = Atomic<Int>(0)
    private let state = Mutex(State())

    /// - Parameter destination: where lines go; not closed.
    init(destination: CInt = STDERR_FILENO) throws(SupervisionError) {
        let ends = try Pipe.make()
        (readEnd, writeEnd) = (ends.read, ends.write)
        self.destination = destination
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

    /// What was written last. Waits until the child's end was read, but not long: a descendant may hold the pipe.
    func lastLines(timeout: Duration = .milliseconds(200)) async -> [String] {
        var patient: Task<Void, Never>?
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.hasEnded { return true }
                state.waiting = continuation
                return false
            }
            if isOver { return continuation.resume() }
            // Only now: patience that ends before somebody waits would wake nobody.
            patient = Task {
                try? await Task.sleep(for: timeout)
                resume()
            }
        }
        patient?.cancel()
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
                ?? (line.count > Self.longestLine ? line.count : 0)
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
        let lines = bytes.split(separator: UInt8(ascii: "\n")).suffix(Self.keptLines)
            .map { String(decoding: $0.prefix(500), as: UTF8.self) }
        state.withLock { state in
            state.lines = Array((state.lines + lines).suffix(Self.keptLines))
        }
        let count = dropped.load(ordering: .relaxed)
        if count > 0, isReady(within: 0) {
            dropped.store(0, ordering: .relaxed)
            put(Array("sluice: \(count) bytes of the log were not taken in time and are lost\n".utf8)[...])
        }
        put(bytes)
    }

    private func put(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let isStuck = dropped.load(ordering: .relaxed) > 0
                guard isReady(within: isStuck ? 0 : Self.timeout) else {
                    dropped.add(rest.count, ordering: .relaxed)
                    return
                }
                let count = min(rest.count, Self.portion)
                let written = write(destination, UnsafeRawBufferPointer(rebasing: rest).baseAddress, count)
                if written < 0, errno == EINTR || errno == EAGAIN { continue }
                // Nobody reads our standard error any more; the child must not feel it.
                guard written > 0 else { return }
                rest = rest.dropFirst(written)
            }
        }
    }

    private func isReady(within milliseconds: CInt) -> Bool {
        var descriptor = pollfd(fd: destination, events: Int16(POLLOUT), revents: 0)
        while true {
            let count = poll(&descriptor, 1, milliseconds)
            if count < 0, errno == EINTR { continue }
            return count != 0
        }
    }
}

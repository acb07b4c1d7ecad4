internal import CLinux
package import Commands
internal import Glibc
package import Host
internal import Store

/// The intent log of a worker: the executions that it has started, in a memory-mapped file. The file outlives
/// `kill -9`, and an entry costs a store to memory where a transaction would cost a flush.
///
/// The status `sent` says that bytes may have left, and is durable before they can. A worker claims ahead, so
/// when it dies more commands are `sent` than were started; this log tells them apart for the coordinator
/// that reaps. A command that was not started is neither suspected of the death nor in doubt. Without the log
/// (another machine, a reboot, a full disk) all count as started.
///
/// The file is `run/begun-<seat>-<epoch>`. Each entry has 24 bytes: the UUID, and a 64-bit state: 0 free, 1
/// executing, 2 ended but not committed.
package final class IntentLog {
    private enum State: UInt64 {
        case free = 0
        case executing = 1
        case ended = 2
    }

    private static let stride = 24

    private let path: String
    private let size: Int
    private let memory: UnsafeMutableRawPointer
    private var free: [Int]

    /// Makes the file.
    /// - Parameter capacity: the maximum number of executions whose end is not committed.
    /// - Returns: nil where that is not possible. The worker then runs without a log.
    package init?(in run: RunDirectory, seat: Int, epoch: Int64, capacity: Int) {
        path = run.intentLog(seat: seat, epoch: epoch)
        size = Self.stride * capacity
        let descriptor = clinux_open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Reserves the blocks: on a full disk, a write to a hole of a mapped file ends the process by SIGBUS.
        guard posix_fallocate(descriptor, 0, off_t(size)) == 0,
            let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
        else {
            unlink(path)
            return nil
        }
        self.memory = memory
        free = Array((0..<capacity).reversed())
    }

    deinit { munmap(memory, size) }

    /// Records that an execution starts. Call it before the first byte may leave.
    /// - Returns: the entry, for ``end(_:)`` and ``clear(_:)``; nil where none is free. Then the log is
    ///   incomplete: ``remove()`` it.
    package func begin(_ id: CommandID) -> Int? {
        guard let entry = free.popLast() else { return nil }
        memory.storeBytes(of: id.high, toByteOffset: Self.stride * entry, as: UInt64.self)
        memory.storeBytes(of: id.low, toByteOffset: Self.stride * entry + 8, as: UInt64.self)
        set(.executing, at: entry)
        return entry
    }

    /// Records that the operation has ended.
    package func end(_ entry: Int) { set(.ended, at: entry) }

    /// Frees the entry. Call it when the end is committed.
    package func clear(_ entry: Int) {
        set(.free, at: entry)
        free.append(entry)
    }

    private func set(_ state: State, at entry: Int) {
        memory.storeBytes(of: state.rawValue, toByteOffset: Self.stride * entry + 16, as: UInt64.self)
    }

    /// Deletes the file. From now on all commands that this worker has claimed count as started.
    package func remove() { unlink(path) }

    /// The entries of a dead worker; nil where there is no log.
    static func read(in run: RunDirectory, seat: Int, epoch: Int64) -> StartedExecutions? {
        let descriptor = clinux_open(run.intentLog(seat: seat, epoch: epoch), O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_size > 0 else { return nil }
        var words = [UInt64](repeating: 0, count: Int(facts.st_size) / 8)
        let count = words.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count == words.count * 8 else { return nil }
        var reading = StartedExecutions()
        for first in Swift.stride(from: 0, to: words.count - 2, by: 3) {
            let id = CommandID(high: words[first], low: words[first + 1])
            switch State(rawValue: words[first + 2]) {
            case .free: break
            case .ended: reading.ended.insert(id)
            // A state of a newer version counts as executing.
            case .executing, nil: reading.executing.insert(id)
            }
        }
        return reading
    }

    /// Deletes the file of a worker that has drained.
    static func remove(in run: RunDirectory, seat: Int, epoch: Int64) {
        unlink(run.intentLog(seat: seat, epoch: epoch))
    }
}

extension RunDirectory {
    static let intentLogPrefix = "begun-"

    func intentLog(seat: Int, epoch: Int64) -> String {
        "\(path)/\(Self.intentLogPrefix)\(seat)-\(String(epoch, radix: 16))"
    }
}

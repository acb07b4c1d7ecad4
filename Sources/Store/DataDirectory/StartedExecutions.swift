internal import CLinux
package import Commands
internal import Glibc

/// Which commands a worker has begun, in a file that it shares with the page cache: it outlives `kill -9`, and costs a
/// store to memory where a transaction would cost a flush.
///
/// `sent` says that bytes may have left, and stands in the store before they can. A worker claims ahead, so at its death
/// more commands are `sent` than were begun; the board tells them apart for whoever releases them. One that was not begun
/// is neither suspected of the death nor in doubt. Without a board (another machine, a reboot, a full disk) all count as
/// begun.
///
/// The file is `run/begun-<seat>-<epoch>`: for each place a UUID, and 8 bytes that say whether it executes (1), has ended
/// and waits for its commit (2), or is none (0).
package final class StartedExecutions {
    /// What a dead worker had begun. - `executing`: may have killed it. `ended`: bytes may have left, no more.
    package struct Reading: Sendable, Equatable {
        package var executing: Set<CommandID> = []
        package var ended: Set<CommandID> = []

        package init(executing: Set<CommandID> = [], ended: Set<CommandID> = []) {
            self.executing = executing
            self.ended = ended
        }
    }

    private enum Mark: UInt64 {
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
    /// - Parameter capacity: executions whose end is not committed, at most.
    /// - Returns: nil where that is not possible; the worker does without.
    package init?(in run: RunDirectory, seat: Int, epoch: Int64, capacity: Int) {
        path = run.startedExecutions(seat: seat, epoch: epoch)
        size = Self.stride * capacity
        let descriptor = clinux_open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Blocks are reserved: a write to a hole of a full disk would end the process by a signal.
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

    /// Call it before the first byte may leave. - Returns: the place, to be given back; nil where none is free, and then
    /// the board is worth nothing: ``remove()`` it.
    package func begin(_ id: CommandID) -> Int? {
        guard let entry = free.popLast() else { return nil }
        memory.storeBytes(of: id.high, toByteOffset: Self.stride * entry, as: UInt64.self)
        memory.storeBytes(of: id.low, toByteOffset: Self.stride * entry + 8, as: UInt64.self)
        set(.executing, at: entry)
        return entry
    }

    /// Call it when its operation has ended.
    package func end(_ entry: Int) { set(.ended, at: entry) }

    /// Call it when the end is committed. Gives the place back.
    package func clear(_ entry: Int) {
        set(.free, at: entry)
        free.append(entry)
    }

    private func set(_ mark: Mark, at entry: Int) {
        memory.storeBytes(of: mark.rawValue, toByteOffset: Self.stride * entry + 16, as: UInt64.self)
    }

    /// From now on all that this worker has claimed counts as begun.
    package func remove() { unlink(path) }

    /// What a dead worker had begun and not ended; nil where nobody knows.
    package static func read(in run: RunDirectory, seat: Int, epoch: Int64) -> Reading? {
        let descriptor = clinux_open(run.startedExecutions(seat: seat, epoch: epoch), O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_size > 0 else { return nil }
        var words = [UInt64](repeating: 0, count: Int(facts.st_size) / 8)
        let count = words.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count == words.count * 8 else { return nil }
        var reading = Reading()
        for first in Swift.stride(from: 0, to: words.count - 2, by: 3) {
            let id = CommandID(high: words[first], low: words[first + 1])
            switch Mark(rawValue: words[first + 2]) {
            case .free: break
            case .ended: reading.ended.insert(id)
            // What this version does not know may be executing.
            case .executing, nil: reading.executing.insert(id)
            }
        }
        return reading
    }

    /// Whoever has released the commands of a dead worker clears up after it.
    package static func remove(in run: RunDirectory, seat: Int, epoch: Int64) {
        unlink(run.startedExecutions(seat: seat, epoch: epoch))
    }

    /// Removes what nobody has cleared up: the boards that are of none of the sessions.
    /// - Parameter sessions: called after the directory was listed, since a worker opens its session before its board.
    package static func removeStale(
        in run: RunDirectory, sessions: () throws(StoreError) -> [Session]
    ) throws(StoreError) -> [Session] {
        let found = try run.files(prefix: RunDirectory.startedExecutionsPrefix)
        let sessions = try sessions()
        let known = Set(sessions.map { run.startedExecutions(seat: $0.seat, epoch: $0.epoch) })
        for path in found where !known.contains(path) { unlink(path) }
        return sessions
    }
}

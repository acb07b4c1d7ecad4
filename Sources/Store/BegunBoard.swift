internal import CLinux
package import Commands

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Which commands a worker has begun, in a file that it shares with the page cache: it outlives `kill -9`, and costs a
/// store to memory where a transaction would cost a flush.
///
/// `sent` says that bytes may have left, and stands in the store before they can. A worker claims ahead, so at its death
/// more commands are `sent` than were begun; the board tells them apart for whoever releases them. One that was not begun
/// is neither suspected of the death nor in doubt. Without a board (another machine, a reboot, a full disk) all count as
/// begun.
///
/// The file is `run/begun-<seat>-<epoch>`: 16 bytes for each place, a UUID or zeros.
package final class BegunBoard {
    private let path: String
    private let size: Int
    private let slots: UnsafeMutableRawPointer
    private var free: [Int]

    /// Makes the file.
    /// - Parameter places: executions whose end is not committed, at most.
    /// - Returns: nil where that is not possible; the worker does without.
    package init?(directory: String, seat: Int, epoch: Int64, places: Int) {
        path = Self.path(directory: directory, seat: seat, epoch: epoch)
        size = 16 * places
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
        slots = memory
        free = Array((0..<places).reversed())
    }

    deinit { munmap(slots, size) }

    /// Call it before the first byte may leave. - Returns: the place, to be given back; nil where none is free, and then
    /// the board is worth nothing: ``remove()`` it.
    package func begin(_ id: CommandID) -> Int? {
        guard let place = free.popLast() else { return nil }
        slots.storeBytes(of: id.low, toByteOffset: 16 * place + 8, as: UInt64.self)
        slots.storeBytes(of: id.high, toByteOffset: 16 * place, as: UInt64.self)
        return place
    }

    /// Call it when the end is committed.
    package func end(_ place: Int) {
        slots.storeBytes(of: 0, toByteOffset: 16 * place, as: UInt64.self)
        free.append(place)
    }

    package func remove() { unlink(path) }

    /// What a dead worker had begun and not ended; nil where nobody knows.
    package static func read(directory: String, seat: Int, epoch: Int64) -> Set<CommandID>? {
        let descriptor = clinux_open(path(directory: directory, seat: seat, epoch: epoch), O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_size > 0 else { return nil }
        var words = [UInt64](repeating: 0, count: Int(facts.st_size) / 8)
        let count = words.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count == words.count * 8 else { return nil }
        var begun: Set<CommandID> = []
        for place in stride(from: 0, to: words.count - 1, by: 2) where words[place] != 0 {
            begun.insert(CommandID(high: words[place], low: words[place + 1]))
        }
        return begun
    }

    /// Whoever has released the commands of a dead worker clears up after it.
    package static func remove(directory: String, seat: Int, epoch: Int64) {
        unlink(path(directory: directory, seat: seat, epoch: epoch))
    }

    /// Removes what nobody has cleared up: the boards in `directory` that are of none of the sessions.
    /// - Parameter sessions: called after the directory was listed, since a worker opens its session before its board.
    package static func removeStale(
        directory: String, sessions: () throws(StoreError) -> [Session]
    ) throws(StoreError) -> [Session] {
        let found = try DataDirectory.names(directory).filter { $0.hasPrefix("begun-") }
        let sessions = try sessions()
        let known = Set(sessions.map { path(directory: directory, seat: $0.seat, epoch: $0.epoch) })
        for name in found where !known.contains("\(directory)/\(name)") { unlink("\(directory)/\(name)") }
        return sessions
    }

    private static func path(directory: String, seat: Int, epoch: Int64) -> String {
        "\(directory)/begun-\(seat)-\(String(epoch, radix: 16))"
    }
}

internal import CLinux
internal import Glibc

/// Wakes the thread of a guarded program from its poll(2): an eventfd(2).
final class ProgramWake: Sendable {
    /// -1 where the process has no descriptor left; the start of the program fails then.
    let descriptor = clinux_event()

    deinit { if descriptor >= 0 { close(descriptor) } }

    func signal() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    func drain() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}

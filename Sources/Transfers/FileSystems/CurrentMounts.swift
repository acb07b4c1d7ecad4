internal import CLinux
internal import Glibc
internal import Synchronization

/// The mount table of this process. It is read again when the kernel reports a change (poll(2) on the open
/// file). The check costs one system call per use.
final class CurrentMounts: Sendable {
    static let shared = CurrentMounts()

    private struct State {
        var descriptor: CInt = -1
        var table = MountTable(parsing: [])
    }

    private let state = Mutex(State())

    /// The mount that holds an absolute path; nil where /proc cannot be read.
    func mount(of path: String) -> MountTable.Mount? {
        state.withLock { state in
            refresh(&state)
            return state.table.mount(of: path)
        }
    }

    private func refresh(_ state: inout State) {
        if state.descriptor < 0 {
            state.descriptor = clinux_open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0)
            guard state.descriptor >= 0 else { return }
        } else {
            var change = pollfd(fd: state.descriptor, events: Int16(POLLPRI), revents: 0)
            guard poll(&change, 1, 0) > 0 else { return }
        }
        var text: [UInt8] = []
        withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
            while true {
                let count = pread(state.descriptor, buffer.baseAddress, buffer.count, off_t(text.count))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                text.append(contentsOf: buffer[..<count])
            }
        }
        state.table = MountTable(parsing: text)
    }
}

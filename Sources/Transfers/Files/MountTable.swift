internal import CLinux
package import Commands
internal import Glibc
internal import Synchronization

/// The mounts of a process, from /proc/self/mountinfo (proc(5)).
///
/// The file system of a path is found in this text only, so the search never touches a hung mount. Symbolic
/// links are not followed for the same reason.
package struct MountTable: Sendable {
    package struct Mount: Sendable, Equatable {
        /// Major and minor number of the file system's device, `0:53`. The mounts of one file system share
        /// it.
        package var device: String
        /// The mount point.
        package var point: String
    }

    private let mounts: [Mount]

    /// - Parameter text: one mount per line. Invalid lines are skipped.
    package init(parsing text: some Sequence<UInt8>) {
        mounts = Array(text).split(separator: 0x0A).compactMap { line in
            let fields = line.split(separator: 0x20, maxSplits: 5)
            guard fields.count > 4, let device = String(validating: fields[2], as: UTF8.self),
                let point = String(validating: Self.unescaped(fields[4]), as: UTF8.self)
            else { return nil }
            return Mount(device: device, point: point)
        }
    }

    /// The mount that holds an absolute path: the one with the longest mount point that is the path or a
    /// parent directory. Of several mounts at one point it is the last, which hides the others.
    package func mount(of path: String) -> Mount? {
        let path = Self.names(in: path)
        var found: (mount: Mount, depth: Int)?
        for mount in mounts {
            let point = Self.names(in: mount.point)
            guard point.count >= found?.depth ?? 0, path.count >= point.count,
                zip(path, point).allSatisfy({ $0.elementsEqual($1) })
            else { continue }
            found = (mount, point.count)
        }
        return found?.mount
    }

    /// The names of a path, with `.` and `..` resolved.
    private static func names(in path: String) -> [Substring.UTF8View] {
        var names: [Substring.UTF8View] = []
        for name in path.utf8.split(separator: .slash) {
            let name = path[name.startIndex..<name.endIndex].utf8
            if name.elementsEqual("..".utf8) {
                _ = names.popLast()
            } else if !name.elementsEqual(".".utf8) {
                names.append(name)
            }
        }
        return names
    }

    /// Decodes space, tab, line feed and backslash, which are written as `\040` and so on.
    private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            guard byte == UInt8(ascii: "\\"), digits.count == 3,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            else {
                bytes.append(byte)
                continue
            }
            bytes.append(value)
            rest.removeFirst(3)
        }
        return bytes
    }
}

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

extension ResourceURL {
    /// The destination; of a `file:` URL the file system that holds the path.
    package var fileDestination: Destination { scheme == .file ? .file(at: filePath) : destination }
}

extension Destination {
    /// The file system that holds an absolute path, named by its mount point. Only the mount table is read,
    /// so this works for a hung file system too.
    package static func file(at path: String) -> Destination {
        file(mountPoint: CurrentMounts.shared.mount(of: path)?.point ?? "/")
    }

    /// The destination of a URL. A path in a `file:` URL stands for the file system that holds it.
    package init?(url text: String) {
        guard let destination = Destination(text) else { return nil }
        let url = destination.isFile ? try? ResourceURL(text) : nil
        self = url?.fileDestination ?? destination
    }
}

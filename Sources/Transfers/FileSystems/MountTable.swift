internal import Commands

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

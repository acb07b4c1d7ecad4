internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Who keeps a WAL from being started over: found in /proc/locks, as SQLite locks bytes of the `-shm` file.
struct WALHolders {
    /// “process 12 (sluice) reads from it”, for an error message.
    let sentence: String

    /// SQLite's read marks are locks on bytes 123 to 127.
    private static let readMarks: ClosedRange<Int> = 123...127

    init(of path: String, checkpointLock: String) {
        let locks = Self.locks()
        let readers = Self.inode("\(path)-shm").map { inode in
            Set(
                locks.filter { $0.inode == inode && $0.kind == "POSIX" && Self.readMarks.contains($0.start) }.map(\.pid)
            )
        }
        if let readers, !readers.isEmpty {
            sentence = Self.list(readers) + (readers.count == 1 ? " reads from it" : " read from it")
            return
        }
        let owners = Self.inode(checkpointLock).map { inode in
            Set(locks.filter { $0.inode == inode && $0.kind == "FLOCK" }.map(\.pid))
        }
        if let owners, !owners.isEmpty {
            sentence = Self.list(owners) + " holds \(checkpointLock) and has not copied it"
        } else {
            sentence = "nobody has copied it"
        }
    }

    private struct Lock {
        var kind: String
        var pid: Int
        var inode: UInt64
        var start: Int
    }

    /// Lines like `3: POSIX  ADVISORY  READ 1234 fe:00:131 124 124`.
    private static func locks() -> [Lock] {
        guard let text = ProcessFacts.contents(of: "/proc/locks") else { return [] }
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ").filter { $0 != "->" }
            guard fields.count >= 8, let pid = Int(fields[4]), let start = Int(fields[6]),
                let inode = fields[5].split(separator: ":").last.flatMap({ UInt64($0) })
            else { return nil }
            return Lock(kind: String(fields[1]), pid: pid, inode: inode, start: start)
        }
    }

    private static func inode(_ path: String) -> UInt64? {
        var facts = stat()
        return stat(path, &facts) == 0 ? UInt64(facts.st_ino) : nil
    }

    private static func list(_ pids: Set<Int>) -> String {
        pids.sorted().map { pid in
            let name = ProcessFacts.contents(of: "/proc/\(pid)/comm")?.filter { $0 != "\n" }
            return "process \(pid)" + (name.map { " (\($0))" } ?? "")
        }.joined(separator: ", ")
    }
}

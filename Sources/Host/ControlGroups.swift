#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The control groups of a process (cgroups(7)), as far as this process sees them.
package struct ControlGroups: Sendable {
    /// A hierarchy that is mounted here: version 2, or one with this controller of version 1.
    private struct Mount {
        var path: String
        /// The group at the root of the mount: another one than “/” where a container shows only its own.
        var root: String
        /// Empty for version 2.
        var controllers: [Substring]
    }

    /// The directories of the process's group, its own first, then its parents; of version 2, and by controller.
    private var unified: [String] = []
    private var directories: [String: [String]] = [:]

    /// - Parameters:
    ///   - membership: `/proc/PID/cgroup`.
    ///   - mounts: `/proc/self/mountinfo`.
    package init(membership: String, mounts: String) {
        let known = mounts.split(separator: "\n").compactMap { Self.mount($0) }
        for line in membership.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let names = fields[1].split(separator: ",")
            let isMounted: (Mount) -> Bool = {
                names.isEmpty ? $0.controllers.isEmpty : Set($0.controllers).isSuperset(of: names)
            }
            guard let mount = known.first(where: isMounted) else { continue }
            let chain = Self.chain(String(fields[2]), in: mount)
            if names.isEmpty { unified = chain }
            for name in names { directories[String(name)] = chain }
        }
    }

    package init(of pid: Int32) {
        self.init(
            membership: TextFile.read("/proc/\(pid)/cgroup") ?? "", mounts: TextFile.read("/proc/self/mountinfo") ?? "")
    }

    /// Whether the group is frozen, as by `docker pause`: the process runs nothing until it is thawed, and is not hung. The
    /// state D of a process alone does not say that.
    package var isFrozen: Bool {
        if let events = unified.first.flatMap({ TextFile.read("\($0)/cgroup.events") }),
            events.split(separator: "\n").contains("frozen 1")
        {
            return true
        }
        guard let directory = directories["freezer"]?.first else { return false }
        return TextFile.read("\(directory)/freezer.state")?.hasPrefix("FROZEN") ?? false
    }

    /// The group with the fewest processes and threads left to start, of those that have a limit.
    package var tightestProcessLimit: (directory: String, max: Int, current: Int)? {
        (unified + (directories["pids"] ?? [])).compactMap {
            directory -> (directory: String, max: Int, current: Int)? in
            guard let max = Self.number("\(directory)/pids.max"), let current = Self.number("\(directory)/pids.current")
            else { return nil }
            return (directory, max, current)
        }.min { $0.max - $0.current < $1.max - $1.current }
    }

    /// Nil for “max”, and for a file that is not there.
    private static func number(_ path: String) -> Int? {
        TextFile.read(path).flatMap { Int($0.prefix { !$0.isNewline }) }
    }

    /// A group with its parents, as directories here. Empty for a group outside of what is mounted.
    private static func chain(_ group: String, in mount: Mount) -> [String] {
        guard !group.split(separator: "/").contains("..") else { return [] }
        var names = group.split(separator: "/")
        let root = mount.root.split(separator: "/")
        // In a container the root of the mount may be named from outside, and the group from inside.
        if names.starts(with: root) { names.removeFirst(root.count) }
        return (0...names.count).reversed().map {
            ([mount.path] + names.prefix($0).map(String.init)).joined(separator: "/")
        }
    }

    /// A line of proc_pid_mountinfo(5).
    private static func mount(_ line: Substring) -> Mount? {
        let parts = line.split(separator: " ")
        guard let separator = parts.firstIndex(of: "-"), separator >= 6, parts.count > separator + 3 else { return nil }
        switch parts[separator + 1] {
        case "cgroup2": return Mount(path: String(parts[4]), root: String(parts[3]), controllers: [])
        case "cgroup":
            let options = parts[separator + 3].split(separator: ",").filter { $0 != "rw" && $0 != "ro" }
            return Mount(path: String(parts[4]), root: String(parts[3]), controllers: options)
        default: return nil
        }
    }
}

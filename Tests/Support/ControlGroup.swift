internal import Foundation

/// A control group (cgroups(7)) for processes of a test.
package struct ControlGroup: Sendable {
    package let directory: String

    /// - Parameter file: a file that the group must have, such as `pids.max`.
    /// - Returns: nil where this machine lets the test make none.
    package init?(with file: String) {
        guard let directory = Self.make(with: file) else { return nil }
        self.directory = directory
    }

    private static func make(with file: String) -> String? {
        for root in ["/sys/fs/cgroup/\(file.prefix { $0 != "." })", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
            let directory = "\(root)/sluice-test-\(UUID())"
            guard access("\(root)/cgroup.procs", F_OK) == 0, mkdir(directory, 0o755) == 0 else { continue }
            if access("\(directory)/\(file)", W_OK) == 0 { return directory }
            rmdir(directory)
        }
        return nil
    }

    /// A freezer of version 2 or 1.
    package static func freezer() -> ControlGroup? {
        ControlGroup(with: "cgroup.freeze") ?? ControlGroup(with: "freezer.state")
    }

    /// The command line that runs a program in the group.
    package func running(_ command: [String]) -> [String] {
        ["/bin/sh", "-c", "echo $$ > \(directory)/cgroup.procs && exec \"$@\"", "sh"] + command
    }

    package func write(_ text: String, to file: String) throws {
        try text.write(toFile: "\(directory)/\(file)", atomically: false, encoding: .utf8)
    }

    package func setFrozen(_ isFrozen: Bool) throws {
        if access("\(directory)/cgroup.freeze", F_OK) == 0 {
            try write(isFrozen ? "1" : "0", to: "cgroup.freeze")
        } else {
            try write(isFrozen ? "FROZEN" : "THAWED", to: "freezer.state")
        }
    }

    /// Removes the group, whose processes have ended.
    package func remove() async {
        for _ in 0..<100 where rmdir(directory) != 0 && errno == EBUSY { try? await Task.sleep(for: .milliseconds(20)) }
    }
}

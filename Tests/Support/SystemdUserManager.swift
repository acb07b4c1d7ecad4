internal import Foundation

/// A systemd user manager, whose units a test writes. It runs in a mount namespace of its own, where systemd takes the
/// machine as one that it has started: no machine of a test is.
///
/// systemd moves every process of its own cgroup into a group below that one. So the manager gets cgroups of its own first,
/// and is not started where it would share one with another process.
package final class SystemdUserManager: Sendable {
    private let process: ChildProcess
    private let units: String
    private let environment: [String: String?]
    private let directory: String
    private let cgroup: String

    /// Whether the programs are there; the machine may still forbid namespaces or cgroups.
    package static var mayExist: Bool {
        program("systemctl") != nil && program("unshare") != nil && access(systemd, X_OK) == 0
    }

    private static let systemd = "/usr/lib/systemd/systemd"

    /// - Parameter directory: an existing directory; the path of the manager's socket must fit into 107 bytes.
    /// - Returns: nil where the machine permits no user manager.
    package init?(in directory: String) async throws {
        guard Self.mayExist else { return nil }
        self.directory = directory
        units = "\(directory)/units"
        mkdir(units, 0o700)
        mkdir("\(directory)/manager", 0o700)
        environment = [
            "XDG_RUNTIME_DIR": "\(directory)/manager", "SYSTEMD_UNIT_PATH": "\(units):",
            "SYSTEMD_LOG_TARGET": "console",
            "DBUS_SESSION_BUS_ADDRESS": nil,
        ]
        try "[Unit]\nDescription=The units of a test\n".write(
            toFile: "\(units)/test.target", atomically: true, encoding: .utf8)
        cgroup = "sluice-test-\(UUID())"
        let script = """
            set -eu
            for root in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
                [ -e $root/cgroup.procs ] || continue
                mkdir $root/\(cgroup)
                echo $$ > $root/\(cgroup)/cgroup.procs
            done
            own=0
            while read -r line; do
                case $line in
                    *:name=systemd:*/\(cgroup) | 0::*/\(cgroup)) own=1 ;;
                    *:name=systemd:* | 0::*) exit 1 ;;
                esac
            done < /proc/self/cgroup
            [ $own = 1 ]
            exec unshare -Urm sh -c 'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system &&
                exec \(Self.systemd) --user --unit=test.target'
            """
        process = try ChildProcess(
            [program("sh")!, "-c", script], environment: environment, log: "\(directory)/systemd")
        try await until("the user manager") {
            if self.process.ending != nil { return true }
            return try await self.systemctl("is-active", "test.target") == "active"
        }
        if process.ending != nil {
            await removeGroups()
            return nil
        }
    }

    /// Writes the file of a unit.
    package func write(_ name: String, _ text: String) throws {
        try text.write(toFile: "\(units)/\(name)", atomically: true, encoding: .utf8)
    }

    /// - Returns: the output, or the error where there is none, without the line feed at its end.
    @discardableResult
    package func systemctl(_ arguments: String...) async throws -> String {
        let run = try ChildProcess(
            [program("systemctl")!, "--user"] + arguments, environment: environment,
            log: "\(directory)/systemctl-\(UUID())")
        _ = try await run.end(within: .seconds(60))
        return (run.output.isEmpty ? run.errors : run.output).trimmingCharacters(in: .newlines)
    }

    /// Stops all units, and then the manager.
    package func finish() async {
        process.signal(SIGTERM)
        _ = try? await process.end(within: .seconds(60))
        await process.finish()
        await removeGroups()
    }

    private func removeGroups() async {
        let find = ["/sys/fs/cgroup", "-depth", "-type", "d", "-path", "*/\(cgroup)*", "-exec", "rmdir", "{}", "+"]
        let run = try? ChildProcess([program("find")!] + find, log: "\(directory)/groups")
        _ = await run?.end
    }
}

internal import CLinux
internal import Foundation

/// A file system in user space (bindfs) that shows a directory at another path and can be made to hang.
package final class FuseMount: Sendable {
    private let process: ChildProcess
    private let target: String

    /// Whether this process can mount one.
    package static var isAvailable: Bool {
        geteuid() == 0 && program("bindfs") != nil && access("/dev/fuse", R_OK | W_OK) == 0
    }

    /// Mounts `directory` at `target` and waits for the mount.
    /// - Parameter options: further options of bindfs, such as `direct_io`, which lets no process share memory.
    package init(of directory: String, at target: String, options: [String] = []) async throws {
        self.target = target
        guard let bindfs = program("bindfs") else { throw Missed("bindfs is not installed") }
        // Without caches of names and attributes every call reaches bindfs.
        process = try ChildProcess(
            [
                bindfs, "-f", "-o", (["attr_timeout=0", "entry_timeout=0"] + options).joined(separator: ","), directory,
                target,
            ],
            log: "\(directory).bindfs")
        var own = stat()
        stat(directory, &own)
        try await until("the FUSE mount at \(target)") {
            if let ending = self.process.ending { throw Missed("bindfs ended: \(ending) \(self.process.errors)") }
            var status = stat()
            return stat(target, &status) == 0 && status.st_dev != own.st_dev
        }
    }

    /// Stops bindfs, so that no call to the file system returns.
    package func hang() { process.signal(SIGSTOP) }

    package func resume() { process.signal(SIGCONT) }

    /// Unmounts the file system. Hanging calls end with an error.
    package func end() async {
        umount2(target, CInt(MNT_DETACH))
        process.signal(SIGKILL)
        await process.finish()
    }
}

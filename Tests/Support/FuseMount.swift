internal import CLinux
internal import Foundation

/// A file system in user space that shows a directory at another place, and that can be made to hang (bindfs).
package final class FuseMount: Sendable {
    private let process: ChildProcess
    private let place: String

    /// Whether this process can make one.
    package static var isAvailable: Bool {
        geteuid() == 0 && program("bindfs") != nil && access("/dev/fuse", R_OK | W_OK) == 0
    }

    /// Mounts it and waits until it is there.
    package init(of directory: String, at place: String) async throws {
        self.place = place
        guard let bindfs = program("bindfs") else { throw Missed("bindfs is not installed") }
        // Names and attributes are asked for each time, so that a call never ends in a cache.
        process = try ChildProcess(
            [bindfs, "-f", "-o", "attr_timeout=0,entry_timeout=0", directory, place],
            log: "\(directory).bindfs")
        var own = stat()
        stat(directory, &own)
        try await until("the FUSE mount at \(place)") {
            if let ending = self.process.ending { throw Missed("bindfs ended: \(ending) \(self.process.errors)") }
            var facts = stat()
            return stat(place, &facts) == 0 && facts.st_dev != own.st_dev
        }
    }

    /// From now on no call to it returns.
    package func hang() { process.signal(SIGSTOP) }

    package func goOn() { process.signal(SIGCONT) }

    /// Unmounts it. Calls that hang end with an error.
    package func end() async {
        umount2(place, CInt(MNT_DETACH))
        process.signal(SIGKILL)
        await process.finish()
    }
}

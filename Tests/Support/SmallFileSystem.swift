internal import Foundation

/// A tmpfs of a few hundred kB, for tests of a full disk.
package struct SmallFileSystem {
    package let path: String

    /// Whether a test can try it: only root can mount.
    package static var mayExist: Bool { geteuid() == 0 && program("mount") != nil }

    /// - Parameter size: as in the option of mount(8), for example `512k`.
    /// - Returns: nil in a container that may not mount: there is nothing to test.
    package init?(_ size: String, at path: String, log: TemporaryDirectory) async throws {
        guard let mount = program("mount") else { return nil }
        mkdir(path, 0o700)
        let process = try ChildProcess(
            [mount, "-t", "tmpfs", "-o", "size=\(size)", "tmpfs", path], log: "\(log.path)/mount")
        guard try await process.end(within: .seconds(10)) == .exited(0) else { return nil }
        self.path = path
    }

    package func remove() { umount2(path, CInt(MNT_DETACH)) }
}

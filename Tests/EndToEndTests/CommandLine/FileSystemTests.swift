import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// A data directory on a file system that cannot hold one.
    @Suite(
        .enabled(if: isAvailable(FuseMount.isAvailable), "only root can mount, and bindfs makes a FUSE file system"),
        .filesOnly("SQLite needs the shared memory"))
    struct FileSystemTests {
        @Test(arguments: [true, false])
        func `a data directory without shared memory is refused with its path and its file system`(
            _ lacksMemory: Bool
        ) async throws {
            try await Installation.with(data: "mounted/data", inProcess: false) { installation in
                let behind = try installation.directory.makeDirectory("behind")
                let mounted = try installation.directory.makeDirectory("mounted")
                let mount = try await FuseMount(of: behind, at: mounted, options: lacksMemory ? ["direct_io"] : [])
                do {
                    for command in [["submit", "noop"], ["limit", "set", "a", "--starts", "1/s"]] {
                        let finished = try await installation.run(
                            program: "\(Installation.bin)/sluice", command + ["--data", installation.data])
                        guard lacksMemory else {
                            #expect(finished.code == 0, "\(finished.errors)")
                            continue
                        }
                        #expect(finished.code == 78, "\(finished.errors)")
                        #expect(
                            finished.errors.contains(
                                "\(installation.data) is on a file system of the type fuse, which has no shared memory"),
                            "\(finished.errors)")
                    }
                    let doctor = try await installation.sluice("doctor").output
                    #expect(doctor.contains(lacksMemory ? "has no shared memory" : "has locks and shared memory"))
                } catch {
                    await mount.end()
                    throw error
                }
                await mount.end()
            }
        }
    }
}

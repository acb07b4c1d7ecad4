import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// A mount that stops answering.
    @Suite(
        .enabled(if: isAvailable(FuseMount.isAvailable), "only root can mount, and bindfs makes a FUSE file system"))
    struct HungFileSystemTests {
        /// Runs `body` with a FUSE mount at `mounted` in the temporary directory, which shows the directory
        /// `behind`.
        private func withMount(_ body: (Installation, FuseMount, String) async throws -> Void) async throws {
            try await Installation.with(inProcess: false) { installation in
                let behind = try installation.directory.makeDirectory("behind")
                let mounted = try installation.directory.makeDirectory("mounted")
                let mount = try await FuseMount(of: behind, at: mounted)
                do {
                    try await body(installation, mount, mounted)
                } catch {
                    await mount.end()
                    throw error
                }
                await mount.end()
            }
        }

        private func count(_ directory: String) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: directory).count { !$0.hasPrefix(".") }
        }

        @Test(.timeLimit(.minutes(3)))
        func `sources on a hung mount take no slot from other files, and are uploaded when it answers`() async throws {
            try await withMount { installation, mount, mounted in
                _ = try await installation.up(workers: 1)
                let target = try installation.directory.makeDirectory("o")
                let files = try (0..<40).map { try installation.directory.file("mounted/hung-\($0)", [1]) }
                let healthy = try (0..<40).map { try installation.directory.file("healthy-\($0)", [2]) }
                let put = try await installation.sluice("put", files, to: "file://\(target)/", "--not-before", "2s")
                #expect(put.code == 0, "\(put.errors)")
                mount.hang()
                // By then some of the first commands are executed and hold their slots.
                try await until("the first") {
                    try await installation.status()?["counts"]?["sent"]?.integer ?? 0 >= 16
                }
                try await until("the explanation of a file that runs") {
                    for id in put.lines.prefix(4) {
                        let explained = try await installation.sluice("explain", id).output
                        if explained.contains("the file system of “\(mounted)/hung-") { return true }
                    }
                    return false
                }
                let others = try await installation.sluice("put", healthy, to: "file://\(target)/")
                #expect(others.code == 0, "\(others.errors)")
                try await until("the healthy files", within: .seconds(25)) { try count(target) == 40 }
                try await until("the reason") {
                    let shown = try await installation.sluice("status", put.lines[39], "--json").output
                    return shown.contains("the file system at \(mounted) has not answered for ")
                }
                let retried = try await installation.sluice("status", put.lines[39], "--json").json()
                #expect(retried["retries"]?.integer == 0, "nothing is charged")
                mount.resume()
                try await until("the others", within: .seconds(60)) { try count(target) == 80 }
            }
        }

        @Test func `each file system is a destination of its own`() async throws {
            try await withMount { installation, mount, mounted in
                let file = try installation.directory.file("a", [1])
                let target = try installation.directory.makeDirectory("o")
                func put(_ directory: String) async throws -> String {
                    let put = try await installation.sluice("put", [file], to: "file://\(directory)/")
                    return try #require(put.ids.first, "\(put.errors)").description
                }
                let (there, here) = (try await put(mounted), try await put(target))
                let destination = try await installation.sluice("status", there, "--json").json()["destination"]?.string
                #expect(destination == "file://localhost\(mounted)")
                // Every path in the file system names it.
                let pause = try await installation.sluice("pause", "--destination", "file://\(mounted)/some/file")
                #expect(pause.code == 0, "\(pause.errors)")
                let explained = try await installation.sluice("explain", there).output
                #expect(explained.hasPrefix("pause: commands to file://localhost\(mounted) paused"), "\(explained)")
                let other = try await installation.sluice("explain", here).output
                #expect(!other.contains("pause:"), "\(other)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a copy to a hung mount can be cancelled, its worker drains, and no file appears afterwards`()
            async throws
        {
            try await withMount { installation, mount, mounted in
                let up = try await installation.up(workers: 1, "--grace", "2s")
                let file = try installation.directory.solidFile("a", 1 << 30)
                let other = try installation.directory.file("b", [1])
                let put = try await installation.sluice(
                    "put", file, "--to", "file://\(mounted)/x", "--retry-limit", "0")
                let id = try #require(put.ids.first).description
                try await until("the part") {
                    try FileManager.default.contentsOfDirectory(atPath: "\(installation.directory.path)/behind")
                        .contains { $0.hasSuffix(".part") }
                }
                mount.hang()
                let began = ContinuousClock.now
                #expect(try await installation.sluice("cancel", id).code == 0)
                try await until("the end") {
                    let status = try await installation.sluice("status", id, "--json").json()["status"]?.string
                    return status == "cancelled" || status == "success"
                }
                #expect(ContinuousClock.now - began < .seconds(6))
                // A drain with another copy that hangs.
                #expect(try await installation.sluice("put", other, "--to", "file://\(mounted)/y").code == 0)
                try await until("the second copy") {
                    try await installation.status()?["counts"]?["sent"]?.integer == 1
                }
                up.signal(SIGTERM)
                // A system call that the file system has already started keeps its process in the kernel.
                try await until("the drain", within: .seconds(10)) { up.errors.contains("Worker drained.") }
                mount.resume()
                #expect(try await up.end(within: .seconds(30)) == .exited(0), "\(up.errors)")
                let behind = try FileManager.default.contentsOfDirectory(
                    atPath: "\(installation.directory.path)/behind")
                #expect(!behind.contains("x") && !behind.contains("y"), "\(behind)")
            }
        }
    }
}

extension Installation {
    /// Runs `sluice put` with many files.
    fileprivate func sluice(
        _ subcommand: String, _ files: [String], to url: String, _ options: String...
    ) async throws -> Finished {
        try await run(program: "\(Self.bin)/sluice", [subcommand] + files + ["--to", url] + options)
    }
}

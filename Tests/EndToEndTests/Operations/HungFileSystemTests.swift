import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// A mount that stops to answer.
    @Suite(
        .enabled(if: isAvailable(FuseMount.isAvailable), "only root can mount, and bindfs makes a FUSE file system"))
    struct HungFileSystemTests {
        /// Runs `body` with a FUSE mount at `mounted` below the temporary directory, which shows `behind`.
        private func withMount(_ body: (Installation, FuseMount, String) async throws -> Void) async throws {
            try await Installation.with { installation in
                let behind = try installation.place.directory("behind")
                let mounted = try installation.place.directory("mounted")
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
        func `sources on a mount that hangs keep no other file from its slot, and go when it answers`() async throws {
            try await withMount { installation, mount, mounted in
                _ = try await installation.up(workers: 1)
                let target = try installation.place.directory("o")
                let files = try (0..<40).map { try installation.place.file("mounted/hung-\($0)", [1]) }
                let healthy = try (0..<40).map { try installation.place.file("healthy-\($0)", [2]) }
                let put = try await installation.sluice("put", files, to: "file://\(target)/", "--not-before", "2s")
                #expect(put.code == 0, "\(put.errors)")
                mount.hang()
                // Executions of the first have begun by then, and hold their slots.
                try await until("the first") {
                    try await installation.status()?["counts"]?["sent"]?.integer ?? 0 >= 16
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
                mount.goOn()
                try await until("the others", within: .seconds(60)) { try count(target) == 80 }
            }
        }

        @Test func `each file system is a destination of its own`() async throws {
            try await withMount { installation, mount, mounted in
                let file = try installation.place.file("a", [1])
                let target = try installation.place.directory("o")
                func put(_ directory: String) async throws -> String {
                    let put = try await installation.sluice("put", [file], to: "file://\(directory)/")
                    return try #require(put.ids.first, "\(put.errors)").description
                }
                let (there, here) = (try await put(mounted), try await put(target))
                let destination = try await installation.sluice("status", there, "--json").json()["destination"]?.string
                #expect(destination == "file://localhost\(mounted)")
                // Any path in it names it.
                let pause = try await installation.sluice("pause", "--destination", "file://\(mounted)/some/file")
                #expect(pause.code == 0, "\(pause.errors)")
                let explained = try await installation.sluice("explain", there).output
                #expect(explained.hasPrefix("pause: commands to file://localhost\(mounted) paused"), "\(explained)")
                let other = try await installation.sluice("explain", here).output
                #expect(!other.contains("pause:"), "\(other)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a copy to a mount that hangs can be cancelled, its worker drains, and nothing appears afterwards`()
            async throws
        {
            try await withMount { installation, mount, mounted in
                let up = try await installation.up(workers: 1, "--grace", "2s")
                let file = try installation.place.solidFile("a", 1 << 30)
                let other = try installation.place.file("b", [1])
                let put = try await installation.sluice(
                    "put", file, "--to", "file://\(mounted)/x", "--retry-limit", "0")
                let id = try #require(put.ids.first).description
                try await until("the part") {
                    try FileManager.default.contentsOfDirectory(atPath: "\(installation.place.path)/behind")
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
                // And a drain, with another copy that hangs.
                #expect(try await installation.sluice("put", other, "--to", "file://\(mounted)/y").code == 0)
                try await until("the second copy") {
                    try await installation.status()?["counts"]?["sent"]?.integer == 1
                }
                up.signal(SIGTERM)
                // A call that the file system has already begun keeps its process in the kernel, whatever the process does.
                try await until("the drain", within: .seconds(10)) { up.errors.contains("Worker drained.") }
                mount.goOn()
                #expect(try await up.end(within: .seconds(30)) == .exited(0), "\(up.errors)")
                let behind = try FileManager.default.contentsOfDirectory(atPath: "\(installation.place.path)/behind")
                #expect(!behind.contains("x") && !behind.contains("y"), "\(behind)")
            }
        }
    }
}

extension Installation {
    /// Puts many files.
    fileprivate func sluice(
        _ subcommand: String, _ files: [String], to url: String, _ options: String...
    ) async throws -> Finished {
        try await run(program: "\(Self.bin)/sluice", [subcommand] + files + ["--to", url] + options)
    }
}

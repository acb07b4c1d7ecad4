import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// A copy of a live data directory, with real processes.
    @Suite(
        .enabled(if: runsSlowTests, "slow"),
        .filesOnly("a copied data directory has no store; ServerStoreTests refuse it"))
    struct CopiedDirectoryTests {
        @Test func `a copy of a live directory does not run until it is adopted`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let copy = "\(installation.directory.path)/copy"
                let program = "\(Installation.bin)/sluice"
                let up = try await installation.up(workers: 1)
                _ = try await installation.sluice("submit", "noop", "--wait")
                let copied = try await installation.run(program: "/bin/cp", ["-a", installation.data, copy])
                #expect(copied.code == 0, "\(copied.errors)")
                for part in ["up", "coordinator", "worker", "door"] {
                    let refused = try await installation.run(program: program, [part, "--data", copy])
                    #expect(refused.code == 78, "\(part): \(refused.errors)")
                    #expect(
                        refused.errors.contains("this is a copy of \(installation.data) made at"), "\(refused.errors)")
                }
                let doctor = try await installation.run(program: program, ["doctor", "--data", copy])
                #expect(
                    doctor.code == 1 && doctor.output.contains("this is a copy of \(installation.data) made at"),
                    "\(doctor.output)")
                // The original goes on, also after a move and a start.
                up.signal(SIGTERM)
                #expect(try await up.end(within: .seconds(60)) == .exited(0))
                let adopted = try await installation.run(program: program, ["restore", "--adopt", copy])
                #expect(adopted.code == 0, "\(adopted.errors)")
                let submitted = try await installation.run(program: program, ["status", "--data", copy])
                #expect(submitted.code == 0, "\(submitted.errors)")
                let moved = "\(installation.directory.path)/moved"
                try FileManager.default.moveItem(atPath: installation.data, toPath: moved)
                try FileManager.default.moveItem(atPath: copy, toPath: installation.data)
                _ = try await installation.up(workers: 1)
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
            }
        }
    }
}

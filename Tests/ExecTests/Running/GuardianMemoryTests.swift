import Foundation
import Host
import TestSupport
import Testing

/// The own memory of guardians, beside a worker whose heap changes after their forks.
@Suite struct GuardianMemoryTests {
    @Test(.enabled(if: runsSlowTests)) func `64 guardians at once have less than 1 MB of their own each`() async throws
    {
        try await withHarness { harness in
            var ends: [CInt] = [-1, -1]
            pipe(&ends)
            let input = try harness.directory.file("fifo", [])
            unlink(input)
            mkfifo(input, 0o600)
            let worker = try ChildProcess(
                [
                    dash, "-c", "exec \"$0\" \"$@\" < '\(input)'", testWorker, "many", "64", "\(harness.lock)-",
                    "/usr/bin/sleep", "1000",
                ],
                log: "\(harness.directory.path)/worker")
            let writer = open(input, O_WRONLY)
            try await until("64 programs", within: .seconds(60)) { worker.output.contains("ready") }
            let guardians = guardians(of: worker.pid)
            #expect(guardians.count == 64)
            let own = guardians.compactMap { pid -> Int? in
                guard let dirty = kilobytes("Private_Dirty", of: pid, in: "smaps_rollup"),
                    let tables = kilobytes("VmPTE", of: pid, in: "status")
                else { return nil }
                #expect(TextFile.read("/proc/\(pid)/comm") == "sluice-guard\n")
                return dirty + tables
            }
            let dirty = guardians.compactMap { kilobytes("Private_Dirty", of: $0, in: "smaps_rollup") }
            let resident = kilobytes("VmRSS", of: worker.pid, in: "status") ?? 0
            print(
                "64 guardians: Private_Dirty max \(dirty.max() ?? 0) kB, with page tables max \(own.max() ?? 0) kB; "
                    + "worker resident \(resident) kB")
            #expect(own.count == 64 && own.allSatisfy { $0 <= 1024 })
            // The worker dies: pages that it shared with the guardians become theirs.
            _ = write(writer, "\n", 1)
            close(writer)
            try await until("the end of all") { worker.output.contains("done") }
            #expect(try await worker.end(within: .seconds(10)) == .exited(0))
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: harness.directory.path).allSatisfy {
                    !$0.hasPrefix("lock")
                })
        }
    }
}

import Foundation
import Host
import TestSupport
import Testing

@testable import Exec

@Suite struct GuardianLauncherTests {
    private func end(of process: GuardedProcess) async -> ProgramEnd? {
        var end: ProgramEnd?
        while let event = await process.next() { if case .ended(let last) = event { end = last } }
        return end
    }

    @Test func `a launcher that has died is replaced, and its guardians go on`() async throws {
        try await withHarness { harness in
            let launcher = GuardianLauncher()
            #expect(launcher.pid == nil)
            var program = try harness.script("echo ready; sleep 0.3; exit 4")
            let first = GuardedProcess(program, launcher: launcher)
            guard case .started = await first.next() else { throw Missed("the program did not start") }
            let dead = try #require(launcher.pid)
            kill(dead, SIGKILL)
            try await until("the end of the launcher") { !isAlive(dead) }
            program.lockPath += "2"
            let second = await end(of: GuardedProcess(program, launcher: launcher))
            #expect(second?.outcome == .exited(4))
            #expect(launcher.pid != dead)
            #expect(await end(of: first)?.outcome == .exited(4))
        }
    }

    @Test func `a launcher ends with its owner`() async throws {
        try await withHarness { harness in
            var launcher: GuardianLauncher? = GuardianLauncher()
            let process = GuardedProcess(try harness.script("exit 0"), launcher: try #require(launcher))
            #expect(await end(of: process)?.outcome == .exited(0))
            let pid = try #require(launcher?.pid)
            #expect(TextFile.read("/proc/\(pid)/comm") == "sluice-launch\n")
            launcher = nil
            try await until("the end of the launcher") { !FileManager.default.fileExists(atPath: "/proc/\(pid)") }
        }
    }

    @Test func `a launcher holds no descriptor of its worker but the socket`() async throws {
        try await withHarness { harness in
            let lock = try #require(try FileLock.attempt("\(harness.directory.path)/seat"))
            let launcher = GuardianLauncher()
            _ = await end(of: GuardedProcess(try harness.script("exit 0"), launcher: launcher))
            let pid = try #require(launcher.pid)
            let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")
            let targets = try files.map {
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\($0)")
            }
            #expect(targets.filter { $0 != "/dev/null" }.count == 1)
            #expect(targets.contains { $0.hasPrefix("socket:") })
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `programs start by one launcher from many tasks at once`() async throws {
        try await withHarness { harness in
            let outcomes = try await withThrowingTaskGroup(of: ProgramEnd.Outcome?.self) { group in
                for index in 0..<64 {
                    var program = try harness.script("exit \(index)")
                    program.lockPath += "\(index)"
                    // Longer than a pipe holds.
                    program.environment = ["A=" + String(repeating: "x", count: index % 8 == 0 ? 120_000 : 10)]
                    group.addTask { [program] in await end(of: GuardedProcess(program))?.outcome }
                }
                return try await group.reduce(into: [ProgramEnd.Outcome?]()) { $0.append($1) }
            }
            let codes = outcomes.map { if case .exited(let code) = $0 { code } else { -1 } as Int32 }
            #expect(codes.sorted() == Array(0..<64))
        }
    }
}

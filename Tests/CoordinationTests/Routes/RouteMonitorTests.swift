import Foundation
import TestSupport
import Testing

/// The kernel's own answers, in a network namespace where routes can be removed.
@Suite struct RouteMonitorTests {
    private static let bin = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().path

    /// Routes can be removed only with root or user namespaces, and with ip(8).
    private static let mayUnshare: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "unshare -Urn ip link add a0 type veth peer name a1 2>/dev/null"]
        return (try? process.run()) != nil
            && {
                process.waitUntilExit()
                return process.terminationStatus == 0
            }()
    }()

    @Test(.enabled(if: !isQuickRun && mayUnshare, "needs network namespaces, veth and ip"), .timeLimit(.minutes(2)))
    func `a route that goes or comes is known within 100 ms`() async throws {
        let directory = try TemporaryDirectory("routes")
        defer { directory.remove() }
        let unshare = ["/usr/bin/unshare", "/bin/unshare"].first { FileManager.default.isExecutableFile(atPath: $0) }
        let probe = try ChildProcess(
            [try #require(unshare), "-Urn", "\(Self.bin)/RouteProbe"], log: "\(directory.path)/probe")
        let ending = try? await probe.end(within: .seconds(90))
        await probe.finish()
        #expect(ending == .exited(0), "\(probe.errors)")
        let lines = probe.output.split(separator: "\n")
        #expect(lines.count == 8, "\(probe.output)")
        for line in lines {
            let milliseconds = try #require(line.split(separator: ": ").last.flatMap { Double($0) })
            #expect(milliseconds <= 100, "\(line) ms")
        }
        print(probe.output)
    }
}

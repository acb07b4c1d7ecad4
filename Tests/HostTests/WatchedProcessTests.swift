import Glibc
import TestSupport
import Testing

@testable import Host

@Suite struct WatchedProcessTests {
    @Test func `only the intended process is watched and killed`() async throws {
        let directory = try TemporaryDirectory("watched")
        defer { directory.remove() }
        let child = try ChildProcess(["/bin/sleep", "60"], directory: directory.path, log: "\(directory.path)/log")
        let start = ProcessIdentity.startTime(of: child.pid) ?? 0
        func isSeen(_ pid: Int32, _ start: Int64, _ boot: String) -> Bool {
            switch WatchedProcess(pid: pid, startTime: start, bootID: boot) {
            case .some: true
            case .none: false
            }
        }
        #expect(isSeen(child.pid, start, ProcessIdentity.bootID))
        // Another process with its number, another boot or another container, no process at all.
        #expect(!isSeen(child.pid, start + 1, ProcessIdentity.bootID))
        #expect(!isSeen(child.pid, start, "another boot"))
        #expect(!isSeen(0x3FFF_FFFF, start, ProcessIdentity.bootID))
        #expect(child.ending == nil)
        let watched = WatchedProcess(pid: child.pid, startTime: start, bootID: ProcessIdentity.bootID)
        switch consume watched {
        case .some(let process): process.kill()
        case .none: Issue.record("It is not seen.")
        }
        try? await until("its end", within: .seconds(10)) { child.ending != nil }
        #expect(child.ending == .signalled(SIGKILL))
        await child.finish()
    }
}

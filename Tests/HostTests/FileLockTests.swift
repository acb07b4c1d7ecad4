import Foundation
import TestSupport
import Testing

@testable import Host

@Suite struct FileLockTests {
    @Test func `only one lock is held, and a probe names its process`() async throws {
        let directory = try TemporaryDirectory("lock")
        defer { directory.remove() }
        let path = "\(directory.path)/a.lock"
        #expect(!LockProbe(path: path).isHeld, "there is no file")
        var lock = try FileLock.attempt(path)
        #expect(lock != nil)
        #expect(try FileLock.attempt(path) == nil)
        #expect(LockProbe(path: path).isHeld)
        // Nil where /proc/locks lists the files of the file system under another device.
        #expect([nil, getpid()].contains(LockProbe(path: path).pid))
        lock?.sign("a longer text\n")
        lock?.sign("short\n")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "short\n")
        lock = nil
        // A child that another test starts at this moment has the descriptor until its exec.
        try await until("the end of the lock") { !LockProbe(path: path).isHeld }
        #expect(LockProbe(path: path).pid == nil)
        #expect(try FileLock.attempt(path) != nil)
    }

    @Test func `the error of a lock that cannot be made names its file`() {
        let error = #expect(throws: SystemError.self) { _ = try FileLock.attempt("/no/such/directory/a.lock") }
        #expect(error?.code == ENOENT && error?.description.contains("“/no/such/directory/a.lock”") == true)
    }
}

import Foundation
import Synchronization
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

    @Test func `a lock that cannot be looked at is not proven to be free`() throws {
        let directory = try TemporaryDirectory("lock")
        defer { directory.remove() }
        let path = "\(directory.path)/a.lock"
        #expect(FreeLock(path: path) != nil, "there is no file")
        let lock = try #require(try FileLock.attempt(path))
        #expect(FreeLock(path: path) == nil)
        withExtendedLifetime(lock) {}
        let loop = "\(directory.path)/loop.lock"
        try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: loop)
        #expect(FreeLock(path: loop) == nil && !LockProbe(path: loop).isHeld)
    }

    @Test func `the error of a lock that cannot be made names its file`() {
        let error = #expect(throws: SystemError.self) { _ = try FileLock.attempt("/no/such/directory/a.lock") }
        #expect(error?.code == ENOENT && error?.description.contains("“/no/such/directory/a.lock”") == true)
    }

    @Test func `only the file of a free lock is removed`() throws {
        let directory = try TemporaryDirectory("lock")
        defer { directory.remove() }
        let path = "\(directory.path)/a.lock"
        #expect(try FileLock.removeIfFree(path), "there is no file")
        let held = try #require(try FileLock.attempt(path))
        #expect(try !FileLock.removeIfFree(path) && held.isNamed(path))
        let free = "\(directory.path)/b.lock"
        #expect(FileManager.default.createFile(atPath: free, contents: nil))
        #expect(try FileLock.removeIfFree(free) && !FileManager.default.fileExists(atPath: free))
        let link = "\(directory.path)/c.lock"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(throws: SystemError.self) { try FileLock.removeIfFree(link) }
        withExtendedLifetime(held) {}
    }

    private final class Counts: Sendable {
        let holders = Atomic(0)
        let rounds = Atomic(0)
        let conflicts = Atomic(0)
    }

    @Test func `a lock is never held twice while its file is removed again and again`() async throws {
        let directory = try TemporaryDirectory("lock")
        defer { directory.remove() }
        let path = "\(directory.path)/a.lock"
        let counts = Counts()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while counts.rounds.load(ordering: .relaxed) < 400 {
                    _ = try FileLock.removeIfFree(path)
                    await Task.yield()
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    while counts.rounds.load(ordering: .relaxed) < 400 {
                        // As a guardian takes it.
                        if let lock = try FileLock.attempt(path), lock.isNamed(path) {
                            if counts.holders.add(1, ordering: .relaxed).oldValue != 0 {
                                counts.conflicts.add(1, ordering: .relaxed)
                            }
                            await Task.yield()
                            counts.holders.subtract(1, ordering: .relaxed)
                            counts.rounds.add(1, ordering: .relaxed)
                        }
                        await Task.yield()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(counts.conflicts.load(ordering: .relaxed) == 0)
    }
}

import Foundation
import TestSupport
import Testing

@testable import Host

/// A lock whose file is removed while it is held.
@Suite struct GuardedLockTests {
    private struct Rig {
        let directory: TemporaryDirectory
        let path: String
        let target: ByteLock.Target

        init() throws {
            directory = try TemporaryDirectory("guard")
            path = "\(directory.path)/a.lock"
            target = ByteLock.Target("\(directory.path)/presence", 3..<4)
        }

        func take(isShared: Bool = false) throws -> FileLock? {
            try FileLock.attempt(path, isShared: isShared, guardedBy: target)
        }
    }

    @Test func `a lock whose file was removed is not taken again, and its holder makes the file anew`() throws {
        let rig = try Rig()
        defer { rig.directory.remove() }
        let held = try #require(try rig.take())
        held.sign("7\n")
        #expect(try held.renew(rig.path) == .unchanged)
        for isTried in [false, true] {
            unlink(rig.path)
            // A process that tries the lock makes its file.
            if isTried { #expect(try rig.take() == nil) }
            #expect(try held.renew(rig.path) == .renewed)
            #expect(try String(contentsOfFile: rig.path, encoding: .utf8) == "7\n")
            #expect(held.isNamed(rig.path) && LockProbe(path: rig.path).isHeld)
            #expect(try rig.take() == nil)
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: rig.directory.path).sorted() == ["a.lock", "presence"])
    }

    @Test func `a renewal waits for a process that tries the lock at this moment`() throws {
        let rig = try Rig()
        defer { rig.directory.remove() }
        let held = try #require(try rig.take())
        unlink(rig.path)
        var other = try FileLock.attempt(rig.path)
        #expect(other != nil)
        #expect(try held.renew(rig.path) == .delayed)
        other = nil
        #expect(try held.renew(rig.path) == .renewed)
    }

    @Test func `without the file of its guard a lock is lost`() throws {
        let rig = try Rig()
        defer { rig.directory.remove() }
        let held = try #require(try rig.take())
        unlink(rig.target.path)
        #expect(try held.renew(rig.path) == .lost)
    }

    @Test func `shared locks exclude only exclusive ones, and bytes of other locks exclude none`() throws {
        let rig = try Rig()
        defer { rig.directory.remove() }
        var shared = [try #require(try rig.take(isShared: true)), try #require(try rig.take(isShared: true))]
        #expect(try rig.take() == nil)
        let other = try FileLock.attempt(
            "\(rig.directory.path)/b.lock", guardedBy: ByteLock.Target(rig.target.path, 4..<5))
        #expect(other != nil)
        shared = []
        #expect(try rig.take() != nil)
        _ = shared
    }
}

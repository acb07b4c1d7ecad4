import Foundation
import TestSupport
import Testing

@testable import Host

/// The order of a lock that several processes wait for. Each object has an open file of its own, as each process has.
@Suite struct QueuedLockTests {
    private struct Rig {
        let directory: TemporaryDirectory
        let target: QueuedLock.Target

        init() throws {
            directory = try TemporaryDirectory("queue")
            target = QueuedLock.Target("\(directory.path)/presence", number: 3)
        }

        func lock() throws -> QueuedLock { try QueuedLock(target) }

        /// The number of waits for the bytes, as the kernel lists them.
        var waiting: Int {
            guard let identity = try? FileManager.default.attributesOfItem(atPath: target.path)[.systemFileNumber],
                let inode = identity as? UInt64
            else { return 0 }
            let locks = String(decoding: contents(of: "/proc/locks") ?? [], as: UTF8.self)
            return locks.split(separator: "\n").count { $0.contains("->") && $0.contains(":\(inode) ") }
        }
    }

    @Test func `one object at a time has the lock`() throws {
        let rig = try Rig()
        defer { rig.directory.remove() }
        let (first, second) = (try rig.lock(), try rig.lock())
        #expect(first.take(timeout: .zero))
        #expect(!second.take(timeout: .zero))
        #expect(!second.take(timeout: .milliseconds(20)))
        first.release()
        // The place that the second one kept is given back, or taken over.
        #expect(second.take(timeout: .seconds(60)))
        #expect(!first.take(timeout: .zero))
        second.release()
        #expect(first.take(timeout: .seconds(60)))
        first.release()
    }

    @Test func `the lock goes to those that wait, in their order, before its holder gets it again`() async throws {
        let rig = try Rig()
        defer { rig.directory.remove() }
        let order = Shared<[Int]>([])
        let holder = try rig.lock()
        for _ in 0..<20 {
            order.change { $0 = [] }
            #expect(holder.take(timeout: .seconds(60)))
            await withTaskGroup { group in
                for number in 1...5 {
                    group.addTask {
                        await BlockingPool.shared.run {
                            guard let lock = try? rig.lock(), lock.take(timeout: .seconds(60)) else { return }
                            order.change { $0.append(number) }
                            lock.release()
                        }
                    }
                    try? await until("its place") { rig.waiting == number }
                }
                group.addTask {
                    await BlockingPool.shared.run {
                        holder.release()
                        guard holder.take(timeout: .seconds(60)) else { return }
                        order.change { $0.append(0) }
                        holder.release()
                    }
                }
            }
            let found = order.value
            #expect(found == [1, 2, 3, 4, 5, 0], "\(found)")
        }
    }

    @Test func `a process that was stopped while it drew a ticket does not keep the others from writing`() throws {
        let rig = try Rig()
        defer { rig.directory.remove() }
        let lock = try rig.lock()
        let counter: Int64 = 1 << 16 + 3 * 8
        let stopped = try ByteLock.attempt(ByteLock.Target(rig.target.path, counter..<counter + 1))
        #expect(stopped != nil)
        #expect(lock.take(timeout: .zero))
        lock.release()
        withExtendedLifetime(stopped) {}
    }

    @Test func `a lock whose caller gave up is free again`() async throws {
        let rig = try Rig()
        defer { rig.directory.remove() }
        let holder = try rig.lock()
        #expect(holder.take(timeout: .zero))
        for _ in 0..<5 { #expect(!(try rig.lock()).take(timeout: .milliseconds(1))) }
        holder.release()
        let next = try rig.lock()
        #expect(next.take(timeout: .seconds(60)))
        next.release()
        try await until("no wait") { rig.waiting == 0 }
    }
}

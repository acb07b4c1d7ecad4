import Commands
import Dispatch
import Foundation
import Operations
import Synchronization
import TestSupport
import Testing
import Work

/// Threads of one file system, and what becomes of calls that it does not answer.
@Suite struct FileSystemLaneTests {
    /// A call that hangs until it is let go.
    private final class Hang: Sendable {
        private let gate = DispatchSemaphore(value: 0)
        private let begun = Atomic<Int>(0)
        private let ended = Atomic<Int>(0)

        var begunCount: Int { begun.load(ordering: .acquiring) }
        var endedCount: Int { ended.load(ordering: .acquiring) }

        func call() {
            begun.add(1, ordering: .releasing)
            gate.wait()
            ended.add(1, ordering: .releasing)
        }

        func letGo(_ count: Int) { for _ in 0..<count { gate.signal() } }
    }

    @Test func `calls run beside each other up to the limit, and give back what they return and throw`() async throws {
        let lane = FileSystemLane(name: "/mnt/x", maxThreads: 3, callLimit: .seconds(30))
        let hang = Hang()
        let calls = (0..<5).map { number in
            Task {
                try await lane.run { _ in
                    hang.call()
                    return number
                }
            }
        }
        try await until("three calls") { hang.begunCount == 3 }
        hang.letGo(5)
        for (number, call) in calls.enumerated() { #expect(try await call.value == number) }
        await #expect(throws: Missed.self) { try await lane.run { _ in throw Missed("thrown") } }
    }

    @Test func `a cancelled call is answered although the kernel holds it, and its result is cleared away late`()
        async throws
    {
        let lane = FileSystemLane(name: "/mnt/x", maxThreads: 1, callLimit: .seconds(30))
        let hang = Hang()
        let late = Atomic<Int>(0)
        let publishes = Atomic<Bool>(false)
        let hung = Task {
            try await lane.run(
                { call in
                    hang.call()
                    publishes.store(call.isWanted, ordering: .releasing)
                    return 7
                }, late: { late.store($0, ordering: .releasing) })
        }
        try await until("the call") { hang.begunCount == 1 }
        let waiting = Task { try await lane.run { _ in 8 } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let began = ContinuousClock.now
        hung.cancel()
        await #expect(throws: CancellationError.self) { try await hung.value }
        #expect(ContinuousClock.now - began < .seconds(3))
        #expect(hang.endedCount == 0)
        hang.letGo(1)
        try await until("the late result") { late.load(ordering: .acquiring) == 7 }
        let isPublished = publishes.load(ordering: .acquiring)
        #expect(!isPublished)
        #expect(try await lane.run { _ in 9 } == 9, "the lane serves again")
    }

    @Test func `a cancelled call that ends by itself within a moment gives its result`() async throws {
        let lane = FileSystemLane(name: "/mnt/x", maxThreads: 1, callLimit: .seconds(30))
        let hang = Hang()
        let call = Task {
            try await lane.run { _ in
                hang.call()
                return 7
            }
        }
        try await until("the call") { hang.begunCount == 1 }
        call.cancel()
        hang.letGo(1)
        #expect(try await call.value == 7)
    }

    @Test(.enabled(if: runsSlowTests, "slow"), .timeLimit(.minutes(2)))
    func `a file system that does not answer is named, new work is refused at once, uncharged, until it answers`()
        async throws
    {
        let lane = FileSystemLane(name: "/mnt/x", maxThreads: 2, callLimit: .seconds(30))
        let hang = Hang()
        let hung = (0..<2).map { _ in Task { try await lane.run { _ in hang.call() } } }
        try await until("two calls") { hang.begunCount == 2 }
        // One that waits is refused when the limit has passed.
        let began = ContinuousClock.now
        let refused = await #expect(throws: CommandFailure.self) { try await lane.run { _ in } }
        #expect((.seconds(4)...(.seconds(20))).contains(ContinuousClock.now - began))
        #expect(refused?.fault == .link)
        #expect(refused?.retryAfter == .seconds(5))
        #expect(refused?.reason.hasPrefix("the file system at /mnt/x has not answered for ") == true)
        // One that comes later is refused at once.
        let later = ContinuousClock.now
        await #expect(throws: CommandFailure.self) { try await lane.run { _ in } }
        #expect(ContinuousClock.now - later < .seconds(1))
        // What clears away is not refused; it is done when the file system answers again.
        let isCleared = Atomic<Bool>(false)
        await lane.clear { isCleared.store(true, ordering: .releasing) }
        let isDone = isCleared.load(ordering: .acquiring)
        #expect(!isDone)
        hang.letGo(2)
        for call in hung { try await call.value }
        try await until("the clearing away") { isCleared.load(ordering: .acquiring) }
        try await lane.run { _ in }
    }

    @Test(.enabled(if: runsSlowTests, "slow"), .timeLimit(.minutes(1)))
    func `a call that hangs is answered after the limit of its lane, and its thread is not used again`() async throws {
        let lane = FileSystemLane(name: "/mnt/x", maxThreads: 1, callLimit: .seconds(1))
        let hang = Hang()
        let began = ContinuousClock.now
        let failure = await #expect(throws: CommandFailure.self) { try await lane.run { _ in hang.call() } }
        #expect(failure?.fault == .link && failure?.isAnswer == true)
        #expect(ContinuousClock.now - began >= .seconds(4))
        #expect(hang.begunCount == 1 && hang.endedCount == 0)
        await #expect(throws: CommandFailure.self) { try await lane.run { _ in } }
        hang.letGo(1)
        try await until("the lane") { (try? await lane.run { _ in true }) ?? false }
    }

    @Test func `the mount of a path is the longest that is its prefix, by names and by bytes`() {
        let table = MountTable(
            parsing: """
                22 1 254:1 / / rw,relatime - ext4 /dev/vda rw
                30 22 0:40 / /mnt rw - tmpfs tmpfs rw
                31 30 0:41 / /mnt/a\\040b rw - fuse.bindfs x rw
                32 30 0:42 / /mnt/hung rw shared:5 - fuse.bindfs x rw
                33 32 0:43 / /mnt/hung rw - nfs4 x rw
                nonsense
                """.utf8)
        let cases = [
            ("/", "254:1"), ("/etc/x", "254:1"), ("/mnt", "0:40"), ("/mnt/x", "0:40"), ("/mntx/y", "254:1"),
            ("/mnt/a b/c", "0:41"), ("/mnt/hung", "0:43"), ("/mnt//hung/./x", "0:43"), ("/mnt/hung/../x", "0:40"),
            ("/mnt/hungry", "0:40"), ("/mnt/hung\u{301}/x", "0:40"), ("/../../etc", "254:1"),
        ]
        for (path, device) in cases { #expect(table.mount(of: path)?.device == device, "\(path)") }
        #expect(MountTable(parsing: [0xFF, 0x20, 0x0A]).mount(of: "/") == nil)
    }
}

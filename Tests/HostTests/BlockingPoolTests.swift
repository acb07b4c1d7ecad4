import Foundation
import TestSupport
import Testing

@testable import Host

@Suite struct BlockingPoolTests {
    /// Bodies that wait until each is released.
    private struct Bodies {
        struct Counts {
            var running = 0
            var maxRunning = 0
            var started: [Int] = []
        }

        let counts = Shared(Counts())
        let gate = MonotonicSemaphore(value: 0)

        func body(_ number: Int) {
            counts.change { counts in
                counts.started.append(number)
                counts.running += 1
                counts.maxRunning = max(counts.maxRunning, counts.running)
            }
            gate.wait()
            counts.change { $0.running -= 1 }
        }
    }

    /// The directory of the calling thread in /proc.
    private static var thread: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
    }

    private static func exists(_ thread: String) -> Bool { FileManager.default.fileExists(atPath: "/proc/\(thread)") }

    @Test func `as many bodies run at once as the pool has threads, and the others wait`() async throws {
        let bodies = Bodies()
        let pool = BlockingPool(named: "test", maxThreads: 3)
        try await withThrowingTaskGroup { group in
            for number in 0..<20 { group.addTask { await pool.run { () throws(Never) in bodies.body(number) } } }
            try await until("three bodies") { bodies.counts.value.running == 3 }
            for _ in 0..<20 { bodies.gate.signal() }
            try await group.waitForAll()
        }
        #expect(bodies.counts.value.maxRunning == 3)
    }

    @Test func `bodies begin in the order of the calls, the urgent ones first`() async throws {
        let bodies = Bodies()
        let pool = BlockingPool(named: "test", maxThreads: 1)
        for number in 0..<3 { pool.perform { bodies.body(number) } }
        try await until("the first body") { bodies.counts.value.running == 1 }
        for number in 3..<5 { pool.perform(isUrgent: true) { bodies.body(number) } }
        for _ in 0..<5 { bodies.gate.signal() }
        await pool.run { () throws(Never) in }
        #expect(bodies.counts.value.started == [0, 3, 4, 1, 2])
    }

    @Test func `the result and the error of a body reach its caller`() async throws {
        let pool = BlockingPool(named: "test", maxThreads: 2)
        #expect(await pool.run { () throws(Never) in 7 } == 7)
        await #expect(throws: SystemError.self) {
            try await pool.run { () throws(SystemError) -> Int in throw SystemError(5, attempt: "test") }
        }
    }

    @Test func `an idle thread is used again`() async throws {
        let pool = BlockingPool(named: "test", maxThreads: 1000, idleTimeout: nil)
        var threads: Set<String> = []
        try await until("a thread that has run before") {
            !threads.insert(await pool.run { () throws(Never) in Self.thread }).inserted
        }
        pool.close()
    }

    @Test func `a thread ends after its idle timeout, and another one starts for the next body`() async throws {
        let pool = BlockingPool(named: "test", maxThreads: 1, idleTimeout: .milliseconds(1))
        for _ in 0..<3 {
            let thread = await pool.run { () throws(Never) in Self.thread }
            try await until("the end of the thread") { !Self.exists(thread) }
        }
    }

    @Test func `a close ends the threads after the bodies handed in, and later bodies still run`() async throws {
        let bodies = Bodies()
        let threads = Shared<Set<String>>([])
        let pool = BlockingPool(named: "test", maxThreads: 2, idleTimeout: nil)
        for number in 0..<4 {
            pool.perform {
                threads.change { $0.insert(Self.thread) }
                bodies.body(number)
            }
        }
        try await until("two bodies") { bodies.counts.value.running == 2 }
        pool.close()
        for _ in 0..<4 { bodies.gate.signal() }
        try await until("every body") { bodies.counts.value.started.count == 4 && bodies.counts.value.running == 0 }
        try await until("the end of the threads") { !threads.value.contains(where: Self.exists) }
        let late = await pool.run { () throws(Never) in Self.thread }
        try await until("the end of the late thread") { !Self.exists(late) }
    }
}

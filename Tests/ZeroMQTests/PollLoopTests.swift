import CLinux
import Glibc
import Host
import Testing

@testable import ZeroMQ

@Suite struct PollLoopTests {
    let loop: PollLoop

    init() throws {
        loop = try PollLoop(name: "loop-test")
    }

    private func stop() async {
        loop.stop()
        await loop.stopped()
    }

    @Test func `a tick runs when its deadline has passed, never before`() async throws {
        let (deadlines, continuation) = AsyncStream<(due: MonotonicTime, now: MonotonicTime)>.makeStream()
        await loop.run { [loop] in
            var due = MonotonicTime.zero
            loop.tick = { now in
                guard now >= due else { return due }
                continuation.yield((due, now))
                due = now + .milliseconds(3)
                return due
            }
        }
        var seen = 0
        for await (due, now) in deadlines {
            #expect(now >= due)
            seen += 1
            if seen == 20 { break }
        }
        await stop()
    }

    @Test func `a tick follows each round of work`() async throws {
        let ticked = Shared(0)
        await loop.run { [loop] in
            loop.tick = { _ in
                ticked.withLock { $0 += 1 }
                return nil
            }
        }
        for _ in 0..<10 {
            let before = await loop.run { ticked.withLock { $0 } }
            // The next round begins after the tick of the one before.
            let after = await loop.run { ticked.withLock { $0 } }
            #expect(after > before)
        }
        await stop()
    }

    @Test func `the work of a thread runs in order, on the loop, and none is lost`() async throws {
        let threads = 8
        let each = 5_000
        let seen = Shared([[Int]](repeating: [], count: threads))
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<threads {
                group.addTask { [loop] in
                    for number in 0..<each {
                        loop.perform {
                            if loop.isCurrent { seen.withLock { $0[thread].append(number) } }
                        }
                    }
                }
            }
        }
        await loop.run {}
        for thread in 0..<threads {
            #expect(seen.withLock { $0[thread] } == Array(0..<each))
        }
        await stop()
    }

    @Test func `actors run on the loop, and its callbacks are isolated to them`() async throws {
        let counter = Counter(loop)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 { group.addTask { await counter.raise() } }
        }
        #expect(await counter.value == 1000)
        #expect(await counter.strayed == 0)
        let through = await loop.run { counter.assumeIsolated { $0.value } }
        #expect(through == 1000)
        await stop()
    }

    actor Counter {
        nonisolated let loop: PollLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        var value = 0
        var strayed = 0

        init(_ loop: PollLoop) {
            self.loop = loop
        }

        func raise() async {
            if !loop.isCurrent { strayed += 1 }
            let seen = value
            value = seen + 1
            await Task.yield()
            if !loop.isCurrent { strayed += 1 }
        }
    }

    /// In a function of its own, because the compiler refuses the direct call.
    static func strayInto(_ counter: Counter) {
        counter.assumeIsolated { _ in }
    }

    @Test func `isolation is checked by the thread`() async throws {
        await #expect(processExitsWith: .failure) {
            let counter = Counter(try PollLoop(name: "isolation"))
            PollLoopTests.strayInto(counter)
            exit(0)
        }
    }

    @Test func `a plain descriptor is served until its registration is removed`() async throws {
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        let (events, continuation) = AsyncStream<UInt8>.makeStream()
        let registration = await loop.run { [loop] in
            loop.whenReadable(descriptor: reading) {
                var byte: UInt8 = 0
                if read(reading, &byte, 1) == 1 { continuation.yield(byte) }
            }
        }
        var iterator = events.makeAsyncIterator()
        for byte: UInt8 in 1...3 {
            withUnsafeBytes(of: byte) { _ = write(writing, $0.baseAddress, 1) }
            #expect(await iterator.next() == byte)
        }
        await loop.run { [loop] in
            loop.remove(registration)
            loop.remove(registration)
        }
        withUnsafeBytes(of: UInt8(4)) { _ = write(writing, $0.baseAddress, 1) }
        // Two rounds in which it would have been served.
        await loop.run {}
        await loop.run {}
        var left: CInt = 0
        #expect(ioctl(reading, UInt(FIONREAD), &left) == 0 && left == 1)
        close(reading)
        close(writing)
        await stop()
    }

    @Test func `the end of a process wakes the loop`() async throws {
        var child = pid_t()
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/sh"), strdup("-c"), strdup("read line"), nil]
        defer { for argument in arguments { free(argument) } }
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        _ = clinux_fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        #expect(posix_spawn(&child, "/bin/sh", &actions, nil, &arguments, nil) == 0)
        posix_spawn_file_actions_destroy(&actions)
        let pidfd = clinux_pidfd_open(child)
        #expect(pidfd >= 0)
        let (events, continuation) = AsyncStream<Void>.makeStream()
        let registration = await loop.run { [loop] in
            loop.whenReadable(descriptor: pidfd) { continuation.yield() }
        }
        close(ends[0])
        close(ends[1])
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() != nil)
        await loop.run { [loop] in loop.remove(registration) }
        var status: CInt = 0
        waitpid(child, &status, 0)
        close(pidfd)
        await stop()
    }

    @Test func `callbacks may remove one another in the round in which both are ready`() async throws {
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        let calls = Shared([String]())
        let (events, continuation) = AsyncStream<Void>.makeStream()
        await loop.run { [loop] in
            var both: [Registration] = []
            for name in ["first", "second"] {
                both.append(
                    loop.whenReadable(descriptor: reading) {
                        calls.withLock { $0.append(name) }
                        for registration in both { loop.remove(registration) }
                        continuation.yield()
                    })
            }
        }
        withUnsafeBytes(of: UInt8(1)) { _ = write(writing, $0.baseAddress, 1) }
        var iterator = events.makeAsyncIterator()
        await iterator.next()
        await loop.run {}
        #expect(calls.withLock { $0 } == ["first"])
        close(reading)
        close(writing)
        await stop()
    }

    @Test func `a body that stops early is called again, after the others had their turn`() async throws {
        let context = try Context()
        let directory = Directory()
        let pull = try await loop.run { [loop] in
            let socket = try Socket(.pull, context: context, loop: loop)
            try socket.bind(directory.endpoint())
            return SocketBox(socket)
        }
        let other = try PollLoop(name: "sender")
        let push = try await Peer.make(.push, context, on: other, connect: directory.endpoint())
        #expect(try await push.sendAll(500, [1]) == 500)
        let (events, continuation) = AsyncStream<Void>.makeStream()
        await loop.run { [loop] in
            _ = loop.whenReadable(pull.socket) {
                if (try? pull.socket.receive { _ in () }) != nil { continuation.yield() }
            }
        }
        var received = 0
        for await _ in events {
            received += 1
            if received == 500 { break }
        }
        other.stop()
        await other.stopped()
        await stop()
    }

    @Test func `a loop without work sleeps`() async throws {
        await loop.run {}
        let before = await processorTime()
        let other = try PollLoop(name: "clock")
        let (events, continuation) = AsyncStream<Void>.makeStream()
        await other.run {
            var due: MonotonicTime?
            other.tick = { now in
                guard let end = due else {
                    due = now + .milliseconds(200)
                    return due
                }
                if now >= end { continuation.finish() }
                return now >= end ? nil : end
            }
        }
        for await _ in events {}
        let used = await processorTime() - before
        #expect(used < 50_000_000, "nanoseconds of the loop's thread in 200 ms")
        other.stop()
        await other.stopped()
        await stop()
    }

    private func processorTime() async -> Int64 {
        await loop.run {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }
    }

    @Test func `work that is added before and after a stop runs`() async throws {
        let order = Shared([Int]())
        for number in 0..<100 { loop.perform { order.withLock { $0.append(number) } } }
        loop.stop()
        loop.stop()
        await Task.detached { [loop] in loop.join() }.value
        await loop.stopped()
        await loop.stopped()
        for number in 100..<200 { loop.perform { order.withLock { $0.append(number) } } }
        let isOnLoop = await loop.run { [loop] in loop.isCurrent }
        #expect(isOnLoop)
        #expect(order.withLock { $0 } == Array(0..<200))
        let counter = Counter(loop)
        await counter.raise()
        #expect(await counter.value == 1)
        #expect(await counter.strayed == 0)
    }

    @Test func `many loops start and stop while work comes in`() async throws {
        for _ in 0..<50 {
            let short = try PollLoop(name: "short")
            let ran = Shared(0)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<50 { await short.run { ran.withLock { $0 += 1 } } }
                    }
                }
                group.addTask { short.stop() }
            }
            await short.stopped()
            #expect(ran.withLock { $0 } == 200)
        }
        await stop()
    }
}

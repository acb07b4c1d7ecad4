import CZeroMQ
import Glibc
import Testing

@testable import ZeroMQ

@Suite struct SocketTests {
    let context: Context
    let loop: PollLoop
    let other: PollLoop
    let directory = Directory()

    init() throws {
        context = try Context()
        loop = try PollLoop(name: "test")
        other = try PollLoop(name: "test-other")
    }

    func stop() async {
        loop.stop()
        other.stop()
        await loop.stopped()
        await other.stopped()
    }

    @Test func `push and pull pass messages of every size in order`() async throws {
        let sizes = [0, 1, 29, 33, 34, 1000, 8192, 100_000, 1 << 20]
        let pull = try await Peer.make(.pull, context, on: loop, bind: directory.endpoint())
        let push = try await Peer.make(.push, context, on: other, connect: directory.endpoint())
        await pull.listen()
        for size in sizes {
            #expect(try await push.send((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }))
        }
        for size in sizes {
            #expect(await pull.next() == (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        }
        await stop()
    }

    @Test func `a message reaches only the subscribers of its prefix`() async throws {
        let publisher = try await Peer.make(.publish, context, on: other, bind: directory.endpoint())
        let wanted = try await Peer.make(
            .subscribe, context, on: loop, connect: directory.endpoint(), subscribe: Array("status/".utf8))
        await wanted.listen()
        await publisher.repeatSending(Array("status/1 {}".utf8))
        _ = await wanted.next()
        await publisher.stopRepeating()
        #expect(try await publisher.send("link/x {}"))
        #expect(try await publisher.send("status/2 {}"))
        var last = await wanted.nextText()
        while last == "status/1 {}" { last = await wanted.nextText() }
        #expect(last == "status/2 {}")
        await stop()
    }

    @Test func `a publisher that receives subscriptions can greet a slow joiner`() async throws {
        var options = Socket.Options()
        options.verboseSubscriptions = true
        let hub = try await Peer.make(
            .extendedPublish, context, on: other, options: options, bind: directory.endpoint())
        await hub.listen()
        // They stay, because the last to leave would be reported too.
        var monitors: [Peer] = []
        for number in 1...3 {
            let monitor = try await Peer.make(
                .subscribe, context, on: loop, connect: directory.endpoint(), subscribe: Array("w".utf8))
            await monitor.listen()
            #expect(await hub.next() == [1] + Array("w".utf8), "each subscription is told, also of a known prefix")
            #expect(try await hub.send("welcome \(number)"))
            #expect(await monitor.nextText() == "welcome \(number)")
            monitors.append(monitor)
        }
        await stop()
    }

    @Test func `tcp with a port that the system chose, and names within the process, work too`() async throws {
        let pull = try await Peer.make(.pull, context, on: loop, bind: .tcp(host: "127.0.0.1", port: 0))
        let port = try #require(await pull.lastEndpoint.split(separator: ":").last.flatMap { UInt16($0) })
        let push = try await Peer.make(.push, context, on: other, connect: .tcp(host: "127.0.0.1", port: port))
        await pull.listen()
        #expect(try await push.send("by tcp"))
        #expect(await pull.nextText() == "by tcp")

        let inner = try await Peer.make(.pull, context, on: loop, bind: .inproc("inner"))
        let innerPush = try await Peer.make(.push, context, on: other, connect: .inproc("inner"))
        await inner.listen()
        #expect(try await innerPush.send("by name"))
        #expect(await inner.nextText() == "by name")
        await stop()
    }

    @Test func `a push takes as many messages as its high-water mark, and then refuses`() async throws {
        var options = Socket.Options()
        options.sendHighWaterMark = 10
        let push = try await Peer.make(
            .push, context, on: loop, options: options, connect: directory.endpoint("absent"))
        #expect(try await push.sendAll(50, [1]) == 10)
        await stop()
    }

    @Test func `an immediate push without a peer refuses at once`() async throws {
        var options = Socket.Options()
        options.immediate = true
        let push = try await Peer.make(
            .push, context, on: loop, options: options, connect: directory.endpoint("absent"))
        #expect(try await push.send([1]) == false)
        let bound = try await Peer.make(.push, context, on: loop, bind: directory.endpoint())
        #expect(try await bound.send([1]) == false)
        await stop()
    }

    @Test func `a publisher never waits, without subscribers or with one that does not read`() async throws {
        var options = Socket.Options()
        options.sendHighWaterMark = 10
        let hub = try await Peer.make(
            .extendedPublish, context, on: other, options: options, bind: directory.endpoint())
        #expect(try await hub.sendAll(1000, [1]) == 1000)
        await hub.listen()
        options.receiveHighWaterMark = 10
        let idle = try await Peer.make(
            .subscribe, context, on: loop, options: options, connect: directory.endpoint(), subscribe: [])
        #expect(await hub.next() == [1])
        #expect(try await hub.sendAll(100_000, [1]) == 100_000)
        _ = idle
        await stop()
    }

    @Test func `a subscriber that stalled goes on afterwards`() async throws {
        var options = Socket.Options()
        options.sendHighWaterMark = 100
        options.receiveHighWaterMark = 100
        let hub = try await Peer.make(
            .extendedPublish, context, on: other, options: options, bind: directory.endpoint())
        await hub.listen()
        let slow = try await Peer.make(
            .subscribe, context, on: loop, options: options, connect: directory.endpoint(), subscribe: [])
        #expect(await hub.next() == [1])
        let full = [UInt8](repeating: 7, count: 4096)
        _ = try await hub.sendAll(20_000, full)
        await hub.repeatSending(Array("after".utf8))
        await slow.listen()
        while await slow.next() == full {}
        await hub.stopRepeating()
        await stop()
    }

    @Test func `a hundred thousand messages survive an orderly close before the first is read`() async throws {
        let endpoint = directory.endpoint()
        let pull = try await loop.run {
            let socket = try Socket(.pull, context: context, loop: loop)
            try socket.bind(endpoint)
            return SocketBox(socket)
        }
        let sender = try Context()
        try await other.run {
            var options = Socket.Options()
            options.sendHighWaterMark = 0
            options.linger = .seconds(60)
            let push = try Socket(.push, context: sender, loop: other, options: options)
            try push.connect(endpoint)
            for number in 0..<100_000 {
                let sent = try withUnsafeBytes(of: number) { try push.send($0) }
                if !sent { throw ZeroMQError(.invalid, "message \(number) was not taken") }
            }
            push.close()
            // Returns when the last byte was written.
            sender.terminate()
        }
        let (numbers, continuation) = AsyncStream<[Int]>.makeStream()
        await loop.run {
            _ = loop.whenReadable(pull.socket) {
                var batch: [Int] = []
                while let number = try? pull.socket.receive({ $0.loadUnaligned(as: Int.self) }) { batch.append(number) }
                continuation.yield(batch)
            }
        }
        var received: [Int] = []
        for await batch in numbers {
            received += batch
            if received.count >= 100_000 { break }
        }
        #expect(received == Array(0..<100_000))
        await stop()
    }

    @Test func `a monitor that never reads costs a bounded amount of memory`() async throws {
        var options = Socket.Options()
        options.sendHighWaterMark = 1000
        let hub = try await Peer.make(
            .extendedPublish, context, on: other, options: options, bind: directory.endpoint())
        await hub.listen()
        options.receiveHighWaterMark = 1000
        let idle = try await Peer.make(
            .subscribe, context, on: loop, options: options, connect: directory.endpoint(), subscribe: [])
        #expect(await hub.next() == [1])
        let message = [UInt8](repeating: 1, count: 2048)
        _ = try await hub.sendAll(10_000, message)
        let before = residentKilobytes()
        _ = try await hub.sendAll(250_000, message)
        #expect(residentKilobytes() - before < 128 * 1024, "500 MB were sent")
        _ = idle
        await stop()
    }

    private func residentKilobytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return 0 }
        let fields = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .split(separator: " ")
        return (Int(fields[1]) ?? 0) * 4
    }

    @Test func `a message above the limit is refused by the sender and cuts off a foreign one`() async throws {
        var options = Socket.Options()
        options.maximumMessageSize = 100
        let pull = try await Peer.make(.pull, context, on: loop, options: options, bind: directory.endpoint())
        await pull.listen()
        let bounded = try await Peer.make(.push, context, on: other, options: options, connect: directory.endpoint())
        let error = await #expect(throws: ZeroMQError.self) {
            _ = try await bounded.send([UInt8](repeating: 0, count: 101))
        }
        #expect(error?.code == .messageTooLong)
        let foreign = try await Peer.make(.push, context, on: other, connect: directory.endpoint())
        #expect(try await foreign.send([UInt8](repeating: 0, count: 101)))
        #expect(try await bounded.send("ok"))
        #expect(await pull.nextText() == "ok", "the long one never came")
        await stop()
    }

    @Test func `the first frame of a message is received, and the others are counted`() async throws {
        let pull = try await Peer.make(.pull, context, on: loop, bind: directory.endpoint())
        await pull.listen()
        let foreign = zmq_ctx_new()
        let push = zmq_socket(foreign, ZMQ_PUSH)
        #expect(zmq_connect(push, directory.endpoint().address) == 0)
        zmq_send(push, "one", 3, ZMQ_SNDMORE)
        zmq_send(push, "two", 3, ZMQ_SNDMORE)
        zmq_send(push, "three", 5, 0)
        zmq_send(push, "next", 4, 0)
        #expect(await pull.nextText() == "one")
        #expect(await pull.nextText() == "next")
        #expect(await pull.droppedFrames == 2)
        zmq_close(push)
        zmq_ctx_term(foreign)
        await stop()
    }

    @Test func `a peer that comes back after its death is connected again`() async throws {
        let push = try await Peer.make(.push, context, on: other, connect: directory.endpoint())
        for round in 1...3 {
            let pulling = try PollLoop(name: "pull")
            let own = try Context()
            var pull: Peer? = try await Peer.make(.pull, own, on: pulling, bind: directory.endpoint())
            await pull?.listen()
            #expect(try await push.send("round \(round)"))
            // A message in the pipe of the dead peer is lost; a later one arrives.
            await push.repeatSending(Array("round \(round)".utf8))
            var text = await pull?.nextText()
            while text != "round \(round)" { text = await pull?.nextText() }
            await push.stopRepeating()
            pull = nil
            own.terminate()
            pulling.stop()
            await pulling.stopped()
        }
        await stop()
    }

    @Test func `after the context ended a send throws terminated`() async throws {
        let own = try Context()
        own.terminate()
        own.terminate()
        let error = await #expect(throws: ZeroMQError.self) { _ = try await Peer.make(.push, own, on: loop) }
        #expect(error?.code == .terminated)
        await stop()
    }

    @Test func `a socket whose owner goes closes by itself, also after its loop ended`() async throws {
        for isLate in [false, true] {
            let own = try Context()
            let short = try PollLoop(name: "short")
            var peer: Peer? = try await Peer.make(.pull, own, on: short, bind: directory.endpoint())
            _ = try await peer?.receive()
            if isLate {
                short.stop()
                await short.stopped()
            }
            peer = nil
            // Returns only when every socket is closed.
            await Task.detached { own.terminate() }.value
            short.stop()
            await short.stopped()
        }
        await stop()
    }
}

import Glibc
import Testing

@testable import ZeroMQ

@Suite struct MisuseTests {
    @Test func `a call from another thread traps with a sentence that names the rule and the loop`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = try Context()
            let loop = try PollLoop(name: "owner")
            let box = try await loop.run { try SocketBox(Socket(.push, context: context, loop: loop)) }
            _ = try box.socket.send([1])
            exit(0)
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("a push socket is used only on the loop that it was made on"))
        #expect(said.contains("loop owner"))
    }

    @Test func `a socket made elsewhere than on its loop traps`() async throws {
        await #expect(processExitsWith: .failure) {
            let context = try Context()
            let loop = try PollLoop(name: "owner")
            _ = try Socket(.push, context: context, loop: loop)
            exit(0)
        }
    }

    @Test func `a loop does not lend its sockets to another loop`() async throws {
        await #expect(processExitsWith: .failure) {
            let context = try Context()
            let loop = try PollLoop(name: "owner")
            let other = try PollLoop(name: "other")
            let box = try await loop.run { try SocketBox(Socket(.pull, context: context, loop: loop)) }
            await other.run { _ = other.whenReadable(box.socket) {} }
            exit(0)
        }
    }

    @Test func `registering from another thread traps`() async throws {
        await #expect(processExitsWith: .failure) {
            let loop = try PollLoop(name: "owner")
            loop.tick = { _ in nil }
            exit(0)
        }
    }

    @Test func `a descriptor closed while registered traps with its number`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let loop = try PollLoop(name: "owner")
            var ends: [CInt] = [0, 0]
            pipe(&ends)
            let descriptor = ends[0]
            await loop.run {
                _ = loop.whenReadable(descriptor: descriptor) {}
                close(descriptor)
            }
            await loop.stopped()
            exit(0)
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("closed while registered"))
    }
}

import Commands
import Store
import Synchronization
import TestSupport
import Testing

@testable import Uploads

/// Each row that an append reads is passed to the check of its caller.
@Suite struct AppendAdmissionTests {
    private let rig: UploadRig
    private let engine: UploadEngine

    init() throws {
        rig = try UploadRig()
        engine = rig.engine()
    }

    /// An append that sends a byte and then waits.
    private func beginStalled(_ id: CommandID) async -> Task<Upload, any Error> {
        let (sent, continuation) = AsyncStream<Void>.makeStream()
        let task = Task { [engine] in
            try await engine.append(UploadAppend(offset: 0, size: 3, completion: .atLength), to: id) { receiver in
                [UInt8(1)].withUnsafeBytes { receiver.add($0) }
                try await receiver.flush()
                continuation.yield()
                try await Task.sleep(for: .seconds(600))
            }
        }
        for await _ in sent { break }
        return task
    }

    /// Sends bytes, and collects the offsets of the rows that were read.
    private func send(_ bytes: [UInt8], to id: CommandID, at offset: Int64, admits: Bool = true) async throws -> (
        Upload, read: [Int64]
    ) {
        let read = Mutex<[Int64]>([])
        let request = UploadAppend(offset: offset, size: Int64(bytes.count), completion: .atLength)
        let upload = try await engine.append(
            request, to: id,
            admits: { upload in
                read.withLock { $0.append(upload.offset) }
                return admits
            },
            { receiver in
                bytes.withUnsafeBytes { receiver.add($0) }
                try await receiver.flush()
            })
        return (upload, read.withLock(\.self))
    }

    @Test func `an append reads its row once`() async throws {
        let id = try await engine.create(length: 3).id
        #expect(try await send([1], to: id, at: 0).read == [0])
        let (upload, read) = try await send([2, 3], to: id, at: 1)
        #expect(upload.state == .complete && read == [1])
    }

    @Test func `an append that stops another one reads the row once more`() async throws {
        let id = try await engine.create(length: 3).id
        let first = await beginStalled(id)
        let (upload, read) = try await send([2, 3], to: id, at: 1)
        #expect(upload.state == .complete && read == [0, 1])
        #expect(try await uploadError { try await first.value }.code == .interrupted)
    }

    @Test func `a request that may not send bytes stops no other one`() async throws {
        let id = try await engine.create(length: 3).id
        let first = await beginStalled(id)
        let (upload, read) = try await send([9], to: id, at: 0, admits: false)
        #expect(upload.offset == 0 && read == [0])
        // The first one still has the turn.
        let number = await engine.turns.beginIfFree(id) {}
        #expect(number == nil)
        await engine.stop()
        #expect(try await uploadError { try await first.value }.offset == 1)
    }

    @Test func `an upload that has ended is gone before the check`() async throws {
        let id = try await engine.create(length: 3).id
        try await engine.terminate(id)
        let error = try await uploadError { try await send([1], to: id, at: 0, admits: false) }
        #expect(error.code == .gone)
    }
}

import Commands
import Store
import TestSupport
import Testing

/// Uploads: rows that become commands in the transaction of their completion.
@Suite(.postgreSQLServer) struct UploadConformance {
    /// A store with one open upload.
    private struct Rig {
        let subject: StoreUnderTest
        let id: CommandID
        var store: any CommandStore { subject.store }
        var shard: Int { id.shard(of: store.shardCount) }

        init(_ kind: StoreKind, length: Int64? = 100, byte: UInt8 = 2) throws {
            subject = try StoreUnderTest(kind)
            id = CommandID(now: .base, shardByte: byte)
            let change = try change(.create(upload(length: length)))
            #expect(change.isApplied)
        }

        func upload(_ id: CommandID? = nil, length: Int64? = 100) -> Upload {
            var facts = UploadFacts(origin: .tus)
            facts.fileName = "ä\u{301}\u{0}\"b.mp4"
            facts.metadata = "filename w6Q="
            facts.digest = UploadDigest(.crc32, [1, 2, 3, 255])
            facts.concatenation = .final([CommandID(), CommandID()])
            facts.interopVersion = 6
            var upload = Upload(id: id ?? self.id, length: length, facts: facts, createdAt: .base)
            upload.due = .base + .seconds(60)
            upload.storage = .file
            return upload
        }

        @discardableResult
        func change(_ write: UploadWrite, now: Timestamp = .base + .seconds(1)) throws -> UploadChange {
            try store.apply([write], shard: write.id.shard(of: store.shardCount), now: now)[0].get()
        }

        func row() throws -> Upload { try #require(try store.upload(id)) }
    }

    private static let noop = CommandDraft.noop

    @Test(arguments: StoreKind.current)
    func `a created upload is read back with all that the client stated`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let expected = rig.upload()
        var found = try rig.row()
        // Drawn anew at each call.
        found.facts.concatenation = expected.facts.concatenation
        #expect(found == expected)
        #expect(try rig.store.upload(CommandID(now: .base, shardByte: 2)) == nil)
        #expect(try !rig.change(.create(rig.upload(length: 5))).isApplied)
        #expect(try rig.row().length == 100)
    }

    @Test(arguments: StoreKind.current)
    func `an offset only grows, up to the length`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        #expect(try rig.change(.advance(rig.id, offset: 40, length: nil, due: nil)).isApplied)
        #expect(try !rig.change(.advance(rig.id, offset: 39, length: nil, due: nil)).isApplied)
        #expect(try !rig.change(.advance(rig.id, offset: 101, length: nil, due: nil)).isApplied)
        #expect(try !rig.change(.advance(rig.id, offset: 50, length: 90, due: nil)).isApplied)
        let row = try rig.row()
        #expect(row.offset == 40 && row.due == nil && row.updatedAt == .base + .seconds(1) && row.state == .open)
    }

    @Test(arguments: StoreKind.current)
    func `a length that comes later is fixed from then on`(_ kind: StoreKind) throws {
        let rig = try Rig(kind, length: nil)
        #expect(try rig.change(.advance(rig.id, offset: 40, length: nil, due: nil)).isApplied)
        #expect(try !rig.change(.advance(rig.id, offset: 40, length: 39, due: nil)).isApplied)
        #expect(try rig.change(.advance(rig.id, offset: 40, length: 50, due: nil)).isApplied)
        #expect(try !rig.change(.advance(rig.id, offset: 40, length: 60, due: nil)).isApplied)
        #expect(try rig.row().length == 50)
    }

    @Test(arguments: StoreKind.current)
    func `a completed upload becomes the command of its id in one transaction`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let change = try rig.change(.complete(rig.id, length: 100, .command(Self.noop), due: .base + .seconds(9)))
        #expect(change.isApplied && change.ready == [rig.id])
        #expect(change.upload?.command == rig.id && change.upload?.state == .complete && change.upload?.offset == 100)
        #expect(try rig.row() == change.upload)
        let command = try #require(try rig.store.command(rig.id))
        #expect(command.status == .new && command.type == "noop" && command.createdAt == .base + .seconds(1))
        #expect(try rig.subject.statuses(rig.id) == [.new])
        #expect(try rig.subject.countsAreTrue())
        // A second completion changes nothing.
        #expect(try !rig.change(.complete(rig.id, length: 100, .command(Self.noop), due: nil)).isApplied)
        #expect(try rig.store.counts()[.new] == 1)
        // It has become a command: its bytes are not ended.
        #expect(try !rig.change(.end(rig.id, reason: "terminated", due: nil)).isApplied)
    }

    @Test(arguments: StoreKind.current)
    func `a refused command leaves its upload open`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let draft = CommandDraft(type: "unknown", payload: [123, 125], destination: .none, idempotent: true)
        let result = try rig.store.apply(
            [
                .complete(rig.id, length: 100, .command(draft), due: nil),
                .advance(rig.id, offset: 7, length: nil, due: nil),
            ], shard: rig.shard, now: .base)
        #expect(throws: StoreError.self) { try result[0].get() }
        #expect(try result[1].get().isApplied)
        #expect(try rig.row().state == .open && rig.row().offset == 7)
        #expect(try rig.store.counts()[.new] == 0)
    }

    @Test(arguments: StoreKind.current)
    func `an upload whose key is held becomes the holder`(_ kind: StoreKind) throws {
        var draft = Self.noop
        draft.uniqueKey = "daily"
        let byte = try #require(UploadSubmission.command(draft).shardByte)
        let rig = try Rig(kind, byte: byte)
        let holder = try rig.subject.submit(draft)
        let change = try rig.change(.complete(rig.id, length: 100, .command(draft), due: nil))
        #expect(change.upload?.command == holder && change.upload?.state == .complete && change.ready.isEmpty)
        #expect(try rig.store.command(rig.id) == nil)
        // In another shard the key would not be unique.
        let other = CommandID(now: .base, shardByte: byte &+ 1)
        try rig.change(.create(rig.upload(other)))
        #expect(throws: StoreError.self) { try rig.change(.complete(other, length: 100, .command(draft), due: nil)) }
    }

    @Test(arguments: StoreKind.current)
    func `a completed upload becomes the flow of its id`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let flow = FlowDraft(
            "publish", nodes: [FlowNode("a", Self.noop), FlowNode("b", Self.noop, after: ["a": .success])])
        let change = try rig.change(.complete(rig.id, length: 100, .flow(FlowPlan(flow)), due: nil))
        #expect(change.upload?.command == rig.id && change.ready.count == 1)
        #expect(try rig.store.flow(rig.id)?.nodes == 2)
        #expect(try rig.subject.status(rig.id) == .blocked)
        #expect(try rig.store.relationProblems(shard: rig.shard).isEmpty)
    }

    @Test(arguments: StoreKind.current)
    func `a small upload is stored with its bytes and its command at once`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let id = CommandID(now: .base, shardByte: 2)
        let body: [UInt8] = [0, 1, 2, 255]
        let change = try rig.change(.store(rig.upload(id, length: nil), body: body, .command(Self.noop)))
        #expect(change.isApplied && change.ready == [id])
        let row = try #require(try rig.store.upload(id))
        #expect(
            row.storage == .row && row.length == 4 && row.offset == 4 && row.state == .complete && row.command == id)
        #expect(try rig.store.uploadBody(id) == body)
        #expect(try rig.change(.dropBytes(id)).upload?.storage == Upload.Storage.none)
        #expect(try rig.store.uploadBody(id) == nil)
        #expect(try rig.change(.remove(id)).isApplied)
        #expect(try rig.store.upload(id) == nil)
        #expect(try rig.store.command(id) != nil)
    }

    @Test(arguments: StoreKind.current)
    func `an ended upload takes no bytes, and is not completed`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        // Its bytes may still be needed.
        #expect(try !rig.change(.dropBytes(rig.id)).isApplied)
        #expect(try rig.change(.end(rig.id, reason: "It has expired.", due: .base + .seconds(5))).isApplied)
        #expect(try !rig.change(.advance(rig.id, offset: 1, length: nil, due: nil)).isApplied)
        #expect(try !rig.change(.complete(rig.id, length: 100, .command(Self.noop), due: nil)).isApplied)
        #expect(try !rig.change(.end(rig.id, reason: "again", due: nil)).isApplied)
        #expect(try rig.row().reason == "It has expired.")
        #expect(try rig.store.counts()[.new] == 0)
    }

    @Test(arguments: StoreKind.current)
    func `uploads are listed in both orders, by state, and by the time when they are due`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        var ids = [rig.id]
        for number in 1...6 {
            let id = CommandID(now: .base + .seconds(number), shardByte: 2)
            var upload = rig.upload(id)
            upload.due = .base + .seconds(100 - number)
            upload.idempotencyKey = "key \(number)"
            upload.fingerprint = UploadFingerprint(statement: Array(repeating: UInt8(number), count: 32))
            try rig.change(.create(upload))
            ids.append(id)
        }
        let sha256 = [UInt8](repeating: 9, count: 32)
        try rig.change(.complete(ids[2], length: 100, nil, due: nil, sha256: sha256))
        func list(_ state: UploadState?, _ order: CommandOrder, _ after: CommandID?, _ limit: Int) throws -> [CommandID]
        {
            try rig.store.uploads(shard: rig.shard, state: state, order: order, after: after, limit: limit).map(\.id)
        }
        #expect(try list(nil, .oldestFirst, nil, 100) == ids)
        #expect(try list(nil, .newestFirst, ids[5], 3) == [ids[4], ids[3], ids[2]])
        #expect(try list(.open, .newestFirst, ids[5], 3) == [ids[4], ids[3], ids[1]])
        #expect(try list(.complete, .oldestFirst, nil, 1) == [ids[2]])
        #expect(try list(.ended, .oldestFirst, nil, 5) == [])
        let due = try rig.store.dueUploads(shard: rig.shard, now: .base + .seconds(96), limit: 10).map(\.id)
        #expect(due == [ids[0], ids[6], ids[5], ids[4]])
        #expect(try rig.store.upload(idempotencyKey: "key 3")?.id == ids[3])
        let fingerprint = try #require(rig.store.upload(idempotencyKey: "key 3")?.fingerprint)
        #expect(fingerprint == UploadFingerprint(statement: Array(repeating: 3, count: 32)))
        // The digest of all bytes is there from the completion on.
        #expect(try rig.store.upload(idempotencyKey: "key 2")?.fingerprint?.content == sha256)
        #expect(try rig.store.upload(idempotencyKey: "key") == nil)
        // The key of an ended upload is free again.
        try rig.change(.end(ids[3], reason: "terminated", due: nil))
        #expect(try rig.store.upload(idempotencyKey: "key 3") == nil)
    }

    @Test func `a shard of the first release has no uploads, and refuses them with the remedy`() throws {
        let subject = try StoreUnderTest(.firstRelease)
        let upload = Upload(
            id: CommandID(now: .base, shardByte: 0), length: nil, facts: UploadFacts(origin: .plain), createdAt: .base)
        #expect(try subject.store.upload(upload.id) == nil)
        #expect(try subject.store.uploads(shard: 0, state: nil, order: .newestFirst, after: nil, limit: 5).isEmpty)
        let error = #expect(throws: StoreError.self) {
            try subject.store.apply([.create(upload)], shard: 0, now: .base)
        }
        #expect(error?.message.contains("migrates") == true)
    }
}

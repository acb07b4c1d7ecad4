import Host
import TestSupport
import Testing

@testable import Store

/// The sentences about holders of locks.
///
/// Looked for other instances: the check before a backup tried the coordinator's byte itself, and could keep a coordinator
/// from starting at that moment.
@Suite struct LockHoldersTests {
    private let place: TemporaryStore
    private var run: RunDirectory { place.data.run }

    init() throws {
        place = try TemporaryStore("holders")
        _ = try place.store(shards: 1)
    }

    @Test func `a worker that has its lock file and not yet its byte is not of release 0·1·0`() throws {
        var held = try FileLock.attempt(run.lock(.seat(3)))
        #expect(held != nil)
        // It gives up, or has its byte, before the second look.
        #expect(try run.processOfFirstRelease { held = nil } == nil)
    }

    @Test func `a process that never has the byte is of release 0·1·0`() throws {
        let held = try FileLock.attempt(run.lock(.seat(3)))
        var looks = 0
        #expect(try run.processOfFirstRelease { looks += 1 }?.isHeld == true)
        #expect(looks == 49)
        withExtendedLifetime(held) {}
    }

    @Test func `a process of this release is known by its byte at the first look`() throws {
        let held = try [run.take(.coordinator), run.take(.seat(0)), run.take(.seat(7))]
        #expect(try run.processOfFirstRelease { Issue.record("it looked again") } == nil)
        withExtendedLifetime(held) {}
    }

    @Test func `a healthy process of Sluice is not called a stranger that is to be ended`() {
        let own = ShardWriter(name: "process 12 (sluice)", isStopped: false, isOwn: true)
        let sentence = ShardWriter.sentence(own)
        #expect(sentence.hasPrefix("is locked by process 12 (sluice) of Sluice"))
        #expect(!sentence.contains("end "))
        let other = ShardWriter(name: "process 14 (python3)", isStopped: false, isOwn: false)
        #expect(ShardWriter.sentence(other).contains("end that process if it hangs"))
        let stopped = ShardWriter(name: "process 12 (sluice)", isStopped: true, isOwn: true)
        #expect(ShardWriter.sentence(stopped).contains("which is stopped"))
        #expect(ShardWriter.sentence(nil) == "is locked by another process; try again")
    }

    @Test func `the writer of a shard is its own where it has the store open`() throws {
        let store = try place.store(shards: 1)
        _ = try store.counts()
        let probe = try SQLiteProbe(place.data.shard(0))
        try probe.run("BEGIN IMMEDIATE")
        #expect(WALHolders.writer(of: place.data.shard(0), run: run)?.isOwn == true)
        try probe.run("ROLLBACK")
        #expect(WALHolders.writer(of: place.data.shard(0), run: run) == nil)
    }
}

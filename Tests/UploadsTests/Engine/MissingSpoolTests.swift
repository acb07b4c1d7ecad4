import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing
import UploadSpool

@testable import Uploads

/// A spool, or a file of it, that is not there for a moment: a file system that is not mounted at boot, a file that was
/// moved away. Nothing ends because of that.
///
/// Looked for other instances: a request in the middle of an upload made a missing file anew and wrote behind a hole; a
/// concatenation made missing parts anew; files without rows were removed from a spool of another store.
struct MissingSpoolTests {
    private let rig: UploadRig

    init() throws { rig = try UploadRig(isDurable: true) }

    private var mark: String { get throws { "\(rig.spool.path)/store.\(try #require(try rig.store.storeID()))" } }

    /// Runs `body` while the spool is an empty directory, as the mount point of a file system.
    private func withEmptySpool(_ body: () async throws -> Void) async throws {
        let files = FileManager.default
        let away = "\(rig.directory.path)/away"
        try files.moveItem(atPath: rig.spool.path, toPath: away)
        try files.createDirectory(atPath: rig.spool.path, withIntermediateDirectories: false)
        try await body()
        try files.removeItem(atPath: rig.spool.path)
        try files.moveItem(atPath: away, toPath: rig.spool.path)
    }

    private func open(_ bytes: [UInt8]) async throws -> Upload {
        let engine = rig.engine()
        _ = try await engine.recover()
        let upload = try await engine.create(length: 6)
        return try await engine.send(bytes, to: upload.id, at: 0)
    }

    @Test(arguments: [true, false])
    func `a spool that is not mounted keeps the door from starting, and ends no upload`(_ hasMark: Bool) async throws {
        let upload = try await open([1, 2])
        // A spool of an earlier version has none.
        if !hasMark { try FileManager.default.removeItem(atPath: try mark) }
        try await withEmptySpool {
            let error = try await uploadError { try await rig.engine().recover() }
            #expect(error.code == .unavailable)
            #expect(error.message.contains("\(rig.spool.path) has no file of the 1 open upload with bytes"))
            #expect(error.message.contains("sluice door --accept-lost-uploads"))
        }
        let next = rig.engine()
        #expect(try await next.recover().missing.isEmpty)
        #expect(try await next.upload(upload.id).offset == 2)
        try await next.send([3, 4, 5, 6], to: upload.id, at: 2)
        #expect(rig.bytes(upload.id) == [1, 2, 3, 4, 5, 6])
        #expect(FileManager.default.fileExists(atPath: try mark))
    }

    @Test func `a person may give the uploads of a lost spool up`() async throws {
        let upload = try await open([1, 2])
        try await withEmptySpool {
            let engine = rig.engine()
            #expect(try await engine.recover(endsMissing: true).lost == [upload.id])
            let error = try await uploadError { try await engine.upload(upload.id) }
            #expect(error.code == .gone && error.message.contains("its file was lost with the spool"))
        }
    }

    @Test func `a file that is missing keeps its upload waiting, and the others go on`() async throws {
        let (lost, kept) = (try await open([1, 2]), try await open([7]))
        let (path, away) = (rig.spool.file(of: lost.id), "\(rig.directory.path)/away")
        try FileManager.default.moveItem(atPath: path, toPath: away)
        let engine = rig.engine()
        #expect(try await engine.recover().missing == [lost.id])
        for _ in 0..<2 {
            #expect(try await uploadError { try await engine.upload(lost.id) }.code == .unavailable)
            let error = try await uploadError { try await engine.send([3], to: lost.id, at: 2) }
            #expect(error.code == .unavailable && error.offset == 2)
            #expect(rig.bytes(lost.id) == nil)
        }
        try await engine.send([8], to: kept.id, at: 1)
        // It is back, without a start of the door.
        try FileManager.default.moveItem(atPath: away, toPath: path)
        #expect(try await engine.upload(lost.id).offset == 2)
        try await engine.send([3, 4, 5, 6], to: lost.id, at: 2)
        #expect(rig.bytes(lost.id) == [1, 2, 3, 4, 5, 6])
    }

    @Test func `an upload whose file stays away expires`() async throws {
        let lost = try await open([1, 2])
        try FileManager.default.removeItem(atPath: rig.spool.file(of: lost.id))
        let engine = rig.engine()
        _ = try await engine.recover()
        rig.advance(rig.limits.maxAge + .seconds(1))
        #expect(await engine.tidy() == 1)
        let error = try await uploadError { try await engine.upload(lost.id) }
        #expect(error.code == .gone && error.message.contains("no progress"))
    }

    /// A wall clock that is ahead for a moment makes every upload old.
    @Test func `no upload expires while the clock is held`() async throws {
        let upload = try await open([1, 2])
        let engine = rig.engine()
        _ = try await engine.recover()
        rig.advance(rig.limits.maxAge + .seconds(1))
        let hold = ClockHold(.jump(rig.limits.maxAge), now: .now)
        try rig.store.set(SettingKey.clockHold, to: hold.json.text)
        #expect(await engine.tidy() == 0)
        #expect(try await engine.upload(upload.id).state == .open)
        try rig.store.set(SettingKey.clockHold, to: nil)
        #expect(await engine.tidy() == 1)
    }

    @Test func `a file that vanishes while the door runs is not made anew behind a hole`() async throws {
        let upload = try await open([1, 2])
        let engine = rig.engine()
        _ = try await engine.recover()
        try FileManager.default.removeItem(atPath: rig.spool.file(of: upload.id))
        #expect(try await uploadError { try await engine.send([3], to: upload.id, at: 2) }.code == .unavailable)
        #expect(rig.bytes(upload.id) == nil)
    }

    @Test func `a spool without a mark gets one where one file is there`() async throws {
        let (lost, _) = (try await open([1, 2]), try await open([7]))
        for path in [try mark, rig.spool.file(of: lost.id)] { try FileManager.default.removeItem(atPath: path) }
        #expect(try await rig.engine().recover().missing == [lost.id])
        #expect(FileManager.default.fileExists(atPath: try mark))
    }

    @Test func `the spool of another store is refused, and no file of it is removed`() async throws {
        let other = CommandID()
        try Data([1]).write(to: URL(fileURLWithPath: rig.spool.file(of: other)))
        try Data().write(to: URL(fileURLWithPath: "\(rig.spool.path)/store.another"))
        for endsMissing in [false, true] {
            let error = try await uploadError { try await rig.engine().recover(endsMissing: endsMissing) }
            #expect(
                error.code == .unavailable
                    && error.message.contains("is that of another store, whose mark store.another"))
        }
        #expect(rig.bytes(other) == [1])
    }

    @Test func `a restore ends open uploads whose files are not in the spool`() async throws {
        let (lost, kept) = (try await open([1, 2]), try await open([7]))
        try FileManager.default.removeItem(atPath: rig.spool.file(of: lost.id))
        let check = SpoolCheck(store: rig.store, spool: rig.spool)
        #expect(try check.endMissing() == [lost.id])
        let engine = rig.engine()
        #expect(try await engine.recover().missing.isEmpty)
        #expect(try await uploadError { try await engine.upload(lost.id) }.code == .gone)
        #expect(try await engine.upload(kept.id).offset == 1)
    }
}

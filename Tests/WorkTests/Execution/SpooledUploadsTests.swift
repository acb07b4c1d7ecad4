import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

@testable import Work

/// The sources of commands that uploads have become.
@Suite struct SpooledUploadsTests {
    @Test func `a command waits uncharged while the spool with its file is not mounted`() throws {
        let place = try TemporaryDirectory("spooled")
        defer { place.remove() }
        let data = DataDirectory(path: "\(place.path)/data")
        let store = try SQLiteStore(directory: data, shardCount: 1)
        let spool = try place.makeDirectory("uploads")
        var upload = Upload(id: CommandID(), length: 3, facts: UploadFacts(origin: .tus), createdAt: .now)
        upload.storage = .file
        _ = try store.apply([.create(upload)], shard: 0)[0].get()
        let sources = SpooledUploads(store, directory: spool)
        let file = "\(spool)/\(upload.id)"
        let payload = Array(#"{"file": "\#(file)"}"#.utf8)
        let failure = try #require(throws: CommandFailure.self) { try sources.restore(payload) }
        #expect(failure.isHeldBack && failure.reason.contains("the spool \(spool) is not mounted"))
        // The file is there, or the spool is, and the operation decides.
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: file))
        try sources.restore(payload)
        try FileManager.default.removeItem(atPath: file)
        let mark = DataDirectory.uploadsMark(of: try #require(try store.storeID()))
        try Data().write(to: URL(fileURLWithPath: "\(spool)/\(mark)"))
        try sources.restore(payload)
    }
}

import Commands
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import Fetch
@testable import Transfers

@Suite struct ResponseStoreTests {
    private func with(_ body: (_ directory: String) throws -> Void) throws {
        let directory = try TemporaryDirectory("responses")
        defer { directory.remove() }
        try body("\(directory.path)/cache")
    }

    private func received(_ bytes: [UInt8], in store: ResponseStore) throws -> ReceivedBody {
        let body = ReceivedBody(path: "\(store.directory)/body/.\(CommandID()).1.part")
        try body.append([ByteBuffer(bytes: bytes)])
        return body
    }

    @discardableResult
    private func write(
        _ bytes: [UInt8], as url: String, at time: Int64 = 0, in store: ResponseStore
    ) throws -> StoredResponse {
        let body = try received(bytes, in: store)
        let now = Timestamp(milliseconds: 1_700_000_000_000 + time)
        var exchange = FetchExchange(
            asked: .unconditional, requestedAt: now, respondedAt: now,
            head: ResponseHead(200, [("ETag", "\"1\""), ("Cache-Control", "max-age=60"), ("X-Ü", "ü\t")]))
        (exchange.bytes, exchange.sha256, exchange.command) = (body.count, body.sha256, CommandID())
        let response = StoredResponse(exchange, for: FetchRequest(url: url), isShared: false)
        try store.apply(.write(response, replacing: nil), body: body)
        return response
    }

    private func files(_ directory: String) -> [String] {
        (FileManager.default.enumerator(atPath: "\(directory)/body")?.compactMap { $0 as? String } ?? [])
            .filter { $0.contains("/") }
    }

    @Test(arguments: [0, 5, 64 << 10, (64 << 10) + 1, 1 << 20]) func `a response is read as it was written`(
        _ count: Int
    ) throws {
        try with { directory in
            let bytes = sample(count, seed: 1)
            let response = try write(bytes, as: "http://h/a", in: try ResponseStore(directory: directory))
            // Another process.
            let found = try ResponseStore(directory: directory).variants(url: "http://h/a", partition: "")
            #expect(found.map(\.response) == [response])
            #expect(found.first?.isReadable == true)
            switch found.first?.place {
            case .index(let stored)?: #expect(stored == bytes && count <= 64 << 10)
            case .file(let path)?: #expect(contents(of: path) == bytes && count > 64 << 10)
            case nil: Issue.record("nothing was found")
            }
            #expect(files(directory).count == (count > 64 << 10 ? 1 : 0))
        }
    }

    @Test func `equal bodies share a file until the last response is deleted`() throws {
        try with { directory in
            let store = try ResponseStore(directory: directory)
            let bytes = sample(100_000, seed: 2)
            for url in ["http://h/a", "http://h/b"] { try write(bytes, as: url, in: store) }
            #expect(files(directory).count == 1)
            #expect(try store.forget(url: "http://h/a") == 1)
            #expect(files(directory).count == 1)
            #expect(try store.usage().bytes == 100_000)
            #expect(try store.forget(url: nil) == 1)
            #expect(files(directory).isEmpty)
            #expect(try store.usage().count == 0)
        }
    }

    @Test func `the least recently used responses make room`() throws {
        try with { directory in
            let store = try ResponseStore(directory: directory, maxBytes: 1 << 20)
            for number in 0..<20 {
                try write(
                    sample(100_000, seed: UInt64(number)), as: "http://h/\(number)",
                    at: Int64(number) * 1000, in: store)
            }
            #expect(try store.usage().bytes <= 1 << 20)
            #expect(try store.variants(url: "http://h/19", partition: "").count == 1)
            #expect(try store.variants(url: "http://h/0", partition: "").isEmpty)
            #expect(files(directory).count == (try store.usage().count))
        }
    }

    @Test func `a changed request is found by its new key`() throws {
        try with { directory in
            let store = try ResponseStore(directory: directory)
            let response = try write([1], as: "http://h/a", in: store)
            var updated = response
            updated.key.vary = #"{"accept":"b"}"#
            try store.apply(.write(updated, replacing: response.key), body: nil)
            #expect(try store.variants(url: "http://h/a", partition: "").map(\.response) == [updated])
            try store.invalidate(["http://h/a"], now: response.respondedAt)
            let invalidated = try store.variants(url: "http://h/a", partition: "").first?.response
            #expect(invalidated?.flags.contains(.invalidated) == true)
            try store.apply(.remove(updated.key), body: nil)
            #expect(try store.usage().count == 0)
        }
    }

    @Test func `a damaged index, or one of another version, is made anew`() throws {
        try with { directory in
            try write([1], as: "http://h/a", in: try ResponseStore(directory: directory))
            try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: "\(directory)/index.sqlite"))
            for ending in ["-wal", "-shm"] { unlink("\(directory)/index.sqlite\(ending)") }
            let store = try ResponseStore(directory: directory)
            #expect(try store.usage().count == 0)
            try write([2], as: "http://h/a", in: store)
            #expect(try store.usage().count == 1)
        }
    }

    @Test func `bodies without a row are swept once they are old`() throws {
        try with { directory in
            let store = try ResponseStore(directory: directory)
            let kept = try write(sample(100_000, seed: 4), as: "http://h/a", in: store)
            // Of a worker that died, and of an index that was made anew.
            let lost = String(repeating: "ab", count: 32)
            mkdir("\(directory)/body/ab", 0o700)
            for name in [".x.1.part", "ab/\(lost)"] {
                try Data([1]).write(to: URL(fileURLWithPath: "\(directory)/body/\(name)"))
            }
            try store.sweep()
            #expect(files(directory).count == 2 && access("\(directory)/body/.x.1.part", F_OK) == 0)
            try store.sweep(olderThan: 0)
            #expect(files(directory) == ["\(kept.sha256.prefix(2))/\(kept.sha256)"])
            #expect(access("\(directory)/body/.x.1.part", F_OK) != 0)
        }
    }

    @Test func `a sweep deletes no body that is arriving, whatever its age by the clock`() throws {
        try with { directory in
            let store = try ResponseStore(directory: directory)
            do {
                let body = try received(sample(200_000, seed: 3), in: store)
                let old = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
                #expect(utimensat(AT_FDCWD, body.path, old, 0) == 0)
                try store.sweep()
                #expect(access(body.path, F_OK) == 0)
            }
        }
    }

    @Test func `a body that is not stored leaves no file`() throws {
        try with { directory in
            let store = try ResponseStore(directory: directory)
            do { _ = try received(sample(200_000, seed: 3), in: store) }
            let names = try FileManager.default.contentsOfDirectory(atPath: "\(directory)/body")
            #expect(names.isEmpty)
        }
    }
}

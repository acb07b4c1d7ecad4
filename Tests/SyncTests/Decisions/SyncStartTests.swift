import Commands
import TestSupport
import Testing

@testable import Sync
@testable import Transfers

/// The beginning of an execution, and what it finds of the one before (operations.md, section 5.2).
@Suite struct SyncStartTests {
    private static let now = Timestamp(milliseconds: 1_772_366_400_000)
    private static let command = CommandID(high: 1, low: 2)

    private func payload(_ extra: [(String, JSONValue)] = []) throws -> SyncPayload {
        try SyncPayloadTests.payload(
            [("items", "/d"), ("pages", ["by": "cursor", "cursor": "/next", "parameter": "after"])] + extra)
    }

    private func checkpoint(_ payload: SyncPayload, age: Duration = .seconds(60), command: CommandID = command)
        -> SyncCheckpoint
    {
        SyncCheckpoint(
            command: command, payload: payload, at: Self.now + (.zero - age),
            position: PagingPosition(number: 3, cursor: "abc", items: 200), read: .full, progress: SinceProgress())
    }

    private func start(_ payload: SyncPayload, _ state: SyncState = SyncState(), _ checkpoint: SyncCheckpoint? = nil)
        -> SyncStart
    {
        SyncStart(payload, command: Self.command, state: state, checkpoint: checkpoint, now: Self.now)
    }

    @Test func `a command that was applied is not read again`() throws {
        let payload = try payload()
        let state = SyncState(rev: 7, command: Self.command)
        #expect(start(payload, state) == .applied(rev: 7))
        #expect(start(payload, state, checkpoint(payload)) == .applied(rev: 7))
        #expect(start(payload, SyncState(rev: 7, command: CommandID(high: 9, low: 9))) == .begin(.full, condition: nil))
    }

    @Test func `paging by cursor goes on for 15 minutes, in the same command and payload`() throws {
        let payload = try payload()
        #expect(start(payload, SyncState(), checkpoint(payload)) == .resume(checkpoint(payload)))
        #expect(start(payload, SyncState(), checkpoint(payload, age: .seconds(899))) != .begin(.full, condition: nil))
        for age in [Duration.seconds(900), .seconds(-1)] {
            #expect(start(payload, SyncState(), checkpoint(payload, age: age)) == .begin(.full, condition: nil))
        }
        #expect(
            start(payload, SyncState(), checkpoint(payload, command: CommandID(high: 9, low: 9)))
                == .begin(.full, condition: nil))
        #expect(
            start(payload, SyncState(), checkpoint(try self.payload([("key", "/uuid")])))
                == .begin(.full, condition: nil))
    }

    @Test(arguments: [["by": "link"], ["by": "page"], ["by": "offset"]] as [JSONValue])
    func `other paging begins again`(pages: JSONValue) throws {
        let payload = try payload([("pages", pages)])
        #expect(start(payload, SyncState(), checkpoint(payload)) == .begin(.full, condition: nil))
    }

    @Test func `an expired cursor is told by the status`() {
        for status in [400, 404, 410, 422] { #expect(SyncCheckpoint.isExpiredCursor(status: status)) }
        for status in [200, 401, 403, 429, 500, 503] { #expect(!SyncCheckpoint.isExpiredCursor(status: status)) }
    }

    @Test func `a token is used by the same payload only`() throws {
        let payload = try payload([("since", ["parameter": "s", "from": "date"])])
        var state = SyncState(fingerprint: payload.fingerprint, token: "t", lastFull: Self.now)
        #expect(start(payload, state) == .begin(.delta(token: "t"), condition: nil))
        state.fingerprint = "other"
        #expect(start(payload, state) == .begin(.full, condition: nil))
    }

    @Test func `a condition is sent for a list of one page that was taken over as it is`() throws {
        let payload = try payload([("pages", ["by": "none"])])
        let validators = try #require(ListValidators(etag: "W/\"1\"", lastModified: nil, pages: 1, read: .full))
        let state = SyncState(fingerprint: payload.fingerprint, validators: validators)
        #expect(start(payload, state) == .begin(.full, condition: validators))
        var other = state
        other.fingerprint = "other"
        #expect(start(payload, other) == .begin(.full, condition: nil))
        #expect(
            start(try self.payload([("pages", ["by": "none"]), ("conditional", false)]), state)
                == .begin(.full, condition: nil))
        // A 304 would withhold the remote records of rows that were changed here.
        var local = state
        local.hasLocalRows = true
        for (merge, isSent) in [("remote", false), ("newest", false), ("local", true)] {
            let payload = try self.payload([("pages", ["by": "none"]), ("merge", .string(merge)), ("version", "/v")])
            local.fingerprint = payload.fingerprint
            #expect(start(payload, local) == .begin(.full, condition: isSent ? validators : nil))
        }
        let delta = try self.payload([("pages", ["by": "none"]), ("since", ["parameter": "s", "from": "date"])])
        let since = SyncState(fingerprint: delta.fingerprint, token: "t", validators: validators, lastFull: Self.now)
        #expect(start(delta, since) == .begin(.delta(token: "t"), condition: nil))
    }

    @Test func `validators are stored for a full read of one page`() throws {
        #expect(ListValidators(etag: "\"1\"", lastModified: "x", pages: 2, read: .full) == nil)
        #expect(ListValidators(etag: "\"1\"", lastModified: "x", pages: 1, read: .delta(token: "t")) == nil)
        #expect(ListValidators(etag: nil, lastModified: nil, pages: 1, read: .full) == nil)
        #expect(
            ListValidators(etag: String(repeating: "x", count: 1025), lastModified: nil, pages: 1, read: .full) == nil)
        let both = try #require(
            ListValidators(etag: "W/\"1\"", lastModified: "Sun, 01 Mar 2026 12:00:00 GMT", pages: 1, read: .full))
        #expect(both.headers.map(\.name) == ["If-None-Match", "If-Modified-Since"])
        #expect(both.headers.map(\.value) == ["W/\"1\"", "Sun, 01 Mar 2026 12:00:00 GMT"])
        let date = ListValidators(etag: nil, lastModified: "Sun, 01 Mar 2026 12:00:00 GMT", pages: 1, read: .full)
        #expect(date?.headers.map(\.name) == ["If-Modified-Since"])
    }

    @Test func `a checkpoint is read as it was written`() throws {
        let payload = try payload([("since", ["parameter": "s", "from": "version"]), ("version", "/v")])
        var checkpoint = checkpoint(payload)
        #expect(SyncCheckpoint(checkpoint.bytes) == checkpoint)
        checkpoint.read = .delta(token: "to\"ken")
        checkpoint.position = PagingPosition(number: 9, cursor: "\u{0}é\\", items: 0, total: 5)
        checkpoint.everyPageWas200 = false
        checkpoint.progress.page(
            number: 1, date: "Sun, 01 Mar 2026 12:00:00 GMT", header: "tok", value: .missing,
            rule: try SinceRule(["parameter": "s", "from": "header:X"]), now: Self.now + .seconds(5))
        checkpoint.progress.record(RecordVersion(stored: "12.50"))
        #expect(SyncCheckpoint(checkpoint.bytes) == checkpoint)
    }

    @Test func `damaged checkpoints are read or refused, and never trap`() throws {
        var random = SeededRandom.announced("sync checkpoint fuzz")
        let bytes = checkpoint(try payload()).bytes
        #expect(
            SyncCheckpoint([]) == nil && SyncCheckpoint(Array("{}".utf8)) == nil
                && SyncCheckpoint(Array("[1]".utf8)) == nil)
        for _ in RandomRounds("sync checkpoint fuzz", 500...5000) {
            var damaged = bytes
            for _ in 0..<random.number(in: 1..<4) {
                damaged[random.number(in: 0..<damaged.count)] = UInt8(random.number(in: 32..<127))
            }
            if let checkpoint = SyncCheckpoint(damaged) { #expect(SyncCheckpoint(checkpoint.bytes) == checkpoint) }
        }
    }
}

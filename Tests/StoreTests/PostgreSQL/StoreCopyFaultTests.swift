import Commands
import Foundation
import Host
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Copies that lose their connections, their locks or the answer to their commit, and copies beside each other.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct StoreCopyFaultTests {
    private let rig: StoreCopyRig

    init() throws { rig = try StoreCopyRig() }

    /// A target whose connections have a name of their own.
    private func named() throws -> (place: StoreCopy.Place, name: String) {
        let name = "copy-\(UInt64.random(in: 0 ... .max))"
        let schema = try rig.schema(of: rig.postgreSQL())
        return (.server(url: "\(rig.url)&application_name=\(name)", schema: schema), name)
    }

    /// Ends connections of a target.
    /// - Parameter condition: SQL, of `pg_stat_activity`.
    private func end(connectionsOf name: String, where condition: String, _ place: StoreCopy.Place) throws {
        let ended = try rig.rows(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE application_name = '\(name)' AND pid <> pg_backend_pid() AND \(condition)
            """, in: .server(url: rig.url, schema: rig.schema(of: place)))
        #expect(try #require(ended.first { row in row[0] as Int }) > 0)
    }

    /// A store of 3,000 commands: their rows fill several pages.
    private func fill(_ place: StoreCopy.Place) throws {
        let subject = try rig.make(place)
        for _ in 0..<30 {
            let drafts = Array(repeating: CommandDraft.noop, count: 100)
            _ = subject.store.submit(drafts, allowUnknownTypes: false, now: .base)
        }
    }

    private func expectFull(_ place: StoreCopy.Place) throws {
        let subject = try rig.open(place)
        #expect(try subject.counted()[.new] == 3000 && subject.countsAreTrue())
    }

    @Test func `a copy that loses the connection of a page connects again`() throws {
        let first = rig.sqlite()
        try fill(first)
        let (target, name) = try named()
        var pages = 0
        _ = try StoreCopy.run(from: first, to: target) { progress throws(StoreError) in
            pages += 1
            guard pages == 4 else { return }
            StoreCopyRig.expect { try end(connectionsOf: name, where: "state = 'idle'", target) }
        }
        try expectFull(target)
    }

    @Test func `a copy that loses its locks ends at the next page, and its target is refused until the next copy`()
        throws
    {
        let first = rig.sqlite()
        try fill(first)
        let (target, name) = try named()
        var pages = 0
        let error = try StoreCopyRig.error {
            _ = try StoreCopy.run(from: first, to: target) { progress throws(StoreError) in
                pages += 1
                guard pages == 4 else { return }
                StoreCopyRig.expect { try end(connectionsOf: name, where: "state = 'idle in transaction'", target) }
            }
        }
        #expect(error.code == .unreachable && pages == 4, "\(error)")
        let refusal = try StoreCopyRig.error { _ = try rig.open(target) }
        #expect(refusal.code == .corrupt && refusal.message.contains("sluice store copy"), "\(refusal)")
        _ = try StoreCopy.run(from: first, to: target)
        try expectFull(target)
    }

    @Test func `a copy that has lost its locks adds nothing to the next one`() throws {
        let (first, second) = (rig.sqlite(), rig.sqlite())
        try fill(first)
        _ = try rig.make(second).submit()
        let (target, name) = try named()
        var pages = 0
        let error = try StoreCopyRig.error {
            _ = try StoreCopy.run(from: first, to: target) { progress throws(StoreError) in
                pages += 1
                guard pages == 4 else { return }
                StoreCopyRig.expect {
                    try end(connectionsOf: name, where: "state = 'idle in transaction'", target)
                    _ = try StoreCopy.run(from: second, to: .server(url: rig.url, schema: rig.schema(of: target)))
                }
            }
        }
        #expect(error.code == .unreachable, "\(error)")
        let subject = try rig.open(target)
        #expect(try subject.counted()[.new] == 1 && subject.countsAreTrue())
    }

    @Test func `a copy whose last commit has lost its answer finds that it is complete`() async throws {
        let server = try #require(PostgreSQLServerTrait.running.withLock { $0 })
        let proxy = try ServerProxy(to: .loopback(port: server.port)) { number in
            // The first connection has the locks, and commits once.
            number == 0 ? ProxyFault(.close, .commitAnswer) : nil
        }
        try await stopping(proxy) {
            let url = "\(server.url(port: proxy.port))?sslmode=disable"
            try await BlockingPool.shared.run { [rig] () throws(any Error) in
                let (first, last) = (rig.sqlite(), rig.postgreSQL())
                let id = try rig.make(first).submit()
                _ = try rig.make(last)
                let report = try StoreCopy.run(from: first, to: .server(url: url, schema: rig.schema(of: last)))
                #expect(report.rows[.commands] == 1)
                #expect(try rig.open(last).status(id) == .new)
            }
            #expect(proxy.faulty == [0])
        }
    }

    @Test(arguments: [true, false])
    func `a second copy to one target is refused while the first one runs`(_ isToPostgreSQL: Bool) throws {
        let (first, second) = (rig.sqlite(), rig.sqlite())
        let target = isToPostgreSQL ? rig.postgreSQL() : rig.sqlite()
        let id = try rig.make(first).submit()
        _ = try rig.make(second)
        var hasTried = false
        _ = try StoreCopy.run(from: first, to: target) { progress throws(StoreError) in
            guard !hasTried else { return }
            hasTried = true
            StoreCopyRig.expect {
                let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: second, to: target) }
                #expect(error.code == .busy && error.message.contains("in use"), "\(error)")
            }
        }
        #expect(try rig.open(target).status(id) == .new && hasTried)
    }

    // MARK: Data directories

    @Test func `a store that another machine has used a moment ago is refused, and the report names the directory`()
        throws
    {
        let (first, last) = (rig.postgreSQL(), rig.postgreSQL())
        _ = try (rig.make(first), rig.make(last))
        let now = Timestamp.now.milliseconds
        for place in [first, last] {
            try rig.run(
                "INSERT INTO host VALUES (1, gen_random_uuid(), 0, 'elsewhere', '/srv/nowhere', \(now))", in: place)
            let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: last) }
            #expect(error.code == .busy && error.message.contains("/srv/nowhere on elsewhere"), "\(error)")
            try rig.run("UPDATE host SET seen_at = \(now - 91_000)", in: place)
        }
        let report = try StoreCopy.run(from: first, to: last)
        #expect(report.host == "/srv/nowhere on elsewhere" && report.spool == nil)
        // It keeps the copy.
        #expect(try rig.rows("SELECT name FROM host", in: last).first { row in row[0] as String } == "elsewhere")
    }

    @Test func `the report names the mark of the spool, and the directory of the source can have the copy`() throws {
        let (first, last) = (rig.sqlite(), rig.postgreSQL())
        guard case .directory(let data) = first else { throw Missed("not a directory") }
        let id = try #require(try rig.make(first).store.storeID())
        #expect(try StoreCopy.run(from: first, to: rig.postgreSQL()).spoolMark == nil)
        let mark = "\(data.resolved.uploads)/\(DataDirectory.uploadsMark(of: id))"
        try FileManager.default.createDirectory(atPath: data.uploads, withIntermediateDirectories: true)
        try #require(FileManager.default.createFile(atPath: mark, contents: nil))
        let report = try StoreCopy.run(from: first, to: last)
        #expect(report.spoolMark == mark && report.spool == data.resolved.spool && report.host == nil)
        let store = try #require(try rig.open(last).store as? PostgreSQLStore)
        try store.bind(to: data, begins: true)
        // The way back: the directory of the source is that of the store.
        let back = try StoreCopy.run(from: last, to: rig.sqlite())
        #expect(back.spool == data.resolved.spool)
        #expect(try StoreCopy.run(from: first, to: rig.postgreSQL()).host == nil)
    }
}

import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// Rows of a commit that are equal in most columns are sent another way than those that differ.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct PostgreSQLEqualRowsTests {
    /// 120 drafts: two kinds of which a commit has many, and 20 that differ in every column.
    private static let drafts: [CommandDraft] = (0..<120).map { index in
        switch index % 6 {
        case 0:
            CommandDraft.noop.with {
                $0.payload = Array(#"{"n":\#(index)}"#.utf8)
                $0.qos = QualityOfService.allCases[index / 6 % QualityOfService.allCases.count]
                $0.destination = Destination(unchecked: "host-\(index)")
                $0.uniqueKey = "key \(index)"
                $0.limit = index % 12 == 0 ? "api" : nil
                $0.retryLimit = index
                $0.total = Int64(index)
                $0.deadline = Timestamp(milliseconds: 4_000_000_000_000 + Int64(index))
            }
        case 1, 2: .noop.with { $0.qos = .background }
        default: .noop.with { $0.payload = [UInt8](repeating: UInt8(ascii: " "), count: index) + Array("{}".utf8) }
        }
    }

    private static let anyID = CommandID()

    /// The commands without the values that differ between two stores.
    private static func facts(of ids: [CommandID], in store: PostgreSQLStore) throws -> [Command] {
        try ids.map { id in
            var command = try #require(try store.command(id))
            (command.id, command.turn, command.createdAt, command.updatedAt) = (Self.anyID, 0, .zero, .zero)
            return command
        }
    }

    private struct Facts {
        var submitted: [Command] = []
        var payloads: [[UInt8]?] = []
        var running: [Command] = []
        var ended: [Command] = []
    }

    /// - Parameter size: commands of a commit.
    private static func run(by size: Int) async throws -> Facts {
        try await BlockingPool.shared.run { () throws(any Error) in
            let schema = try PostgreSQLTestSchema(shardCount: 4)
            defer { schema.remove() }
            let store = try PostgreSQLStore(url: schema.url, schema: schema.name)
            try store.set(SettingKey.limit("api"), to: #"{"starts":"30/s"}"#)
            try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: "boot"), shard: 0)
            func parts<Element>(_ all: [Element]) -> [ArraySlice<Element>] {
                stride(from: 0, to: all.count, by: size).map { all[$0..<min($0 + size, all.count)] }
            }
            func apply(_ writes: [ExecutionWrite]) throws {
                for part in parts(writes) {
                    _ = try store.apply(
                        { Array(part) }, group: store.commitGroup(of: 0), seat: 1, epoch: 1,
                        CommitAttempt(timeout: .seconds(10)))
                }
            }
            var facts = Facts()
            let ids = try parts(drafts).flatMap { part in
                try store.submit(Array(part), allowUnknownTypes: false).map { try $0.get().id }
            }
            facts.submitted = try Self.facts(of: ids, in: store)
            facts.payloads = try ids.map { try store.payload($0) }
            try apply(ids.map { .claim($0, sent: true) })
            facts.running = try Self.facts(of: ids, in: store)
            try apply(ids.map { .end($0, claim: 1, .success(result: nil)) })
            facts.ended = try Self.facts(of: ids, in: store)
            return facts
        }
    }

    @Test func `commands of one commit are those of a commit each`() async throws {
        let (one, many) = try await (Self.run(by: 1), Self.run(by: Self.drafts.count))
        for index in Self.drafts.indices {
            #expect(many.submitted[index] == one.submitted[index])
            #expect(many.payloads[index] == Self.drafts[index].payload)
            #expect(many.running[index] == one.running[index] && many.running[index].status == .sent)
            #expect(many.ended[index] == one.ended[index] && many.ended[index].status == .success)
        }
        #expect(one.payloads == many.payloads)
    }
}

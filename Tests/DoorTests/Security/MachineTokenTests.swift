import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

@testable import Door

struct MachineTokenTests {
    private let memory = MemoryStore()
    private var store: TokenStore { TokenStore(memory) }
    private let now = Timestamp(milliseconds: 1_000_000)

    private func with(_ body: (DataDirectory) throws -> Void) throws {
        let temporary = try TemporaryDirectory("machine-token")
        defer { temporary.remove() }
        let directory = DataDirectory(path: "\(temporary.path)/data")
        try directory.prepare()
        try body(directory)
    }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test func `the first start makes a token with all scopes but grant, and the next start reads it`() throws {
        try with { directory in
            let token = try MachineToken.load(in: directory, store, now: now)
            #expect(try mode(directory.doorToken) == 0o600 && mode(directory.keys) == 0o700)
            #expect(contents(of: directory.doorToken) == Array("\(token.text)\n".utf8))
            let record = try #require(try store.tokens().records.first)
            #expect(
                record.matches(token) && record.name == "local"
                    && record.scopes == Set(Scope.allCases).subtracting([.grant]))
            #expect(try MachineToken.load(in: directory, store, now: now) == token)
            #expect(try store.tokens().records.count == 1)
        }
    }

    @Test func `a token file that others can read, or without a token, is refused`() throws {
        try with { directory in
            _ = try MachineToken.load(in: directory, store, now: now)
            #expect(chmod(directory.doorToken, 0o644) == 0)
            let open = try #require(throws: StoreError.self) { try MachineToken.load(in: directory, store, now: now) }
            #expect(open.code == .permission && open.message.contains("chmod 0600"), "\(open)")
            #expect(chmod(directory.doorToken, 0o600) == 0)
            try Data("slu_cut".utf8).write(to: URL(fileURLWithPath: directory.doorToken))
            let other = try #require(throws: StoreError.self) { try MachineToken.load(in: directory, store, now: now) }
            #expect(other.message.contains("Remove the file") && !other.message.contains("slu_cut"), "\(other)")
        }
    }

    @Test func `a revoked token is replaced at the next start`() throws {
        try with { directory in
            let first = try MachineToken.load(in: directory, store, now: now)
            _ = try store.revoke(first.id, now: now)
            let second = try MachineToken.load(in: directory, store, now: now)
            #expect(second != first)
            #expect(try store.tokens().records.filter { $0.state(at: now) == .usable }.map(\.id) == [second.id])
            #expect(try MachineToken.load(in: directory, store, now: now) == second)
        }
    }

    @Test func `a token whose record is missing in a restored store gets it again`() throws {
        try with { directory in
            let first = try MachineToken.load(in: directory, store, now: now)
            memory.set([(SettingKey.accessToken(first.id), nil)], timeout: .zero)
            #expect(try MachineToken.load(in: directory, store, now: now) == first)
            #expect(try store.tokens().records.map(\.id) == [first.id])
        }
    }

    @Test func `a token whose file is gone is revoked, and replaced`() throws {
        try with { directory in
            let first = try MachineToken.load(in: directory, store, now: now)
            #expect(unlink(directory.doorToken) == 0)
            let second = try MachineToken.load(in: directory, store, now: now)
            let records = try store.tokens().records
            #expect(records.first { $0.id == first.id }?.revoked == now)
            #expect(records.first { $0.id == second.id }?.revoked == nil)
        }
    }
}

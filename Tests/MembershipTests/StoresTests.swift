import Host
import Membership
import Store
import TestSupport
import Testing

struct StoresTests {
    @Test(arguments: ["./sluice-data", "/var/lib/sluice", "postgres:", "postgres:/db", "./postgres://host/db"])
    func `the path of a directory is the location of a store`(_ text: String) throws {
        #expect(try StoreLocation(text) == .directory(DataDirectory(path: text)))
    }

    @Test(arguments: [
        "postgres://host/db", "postgresql://user@host:5432/db", "postgres://", "POSTGRES://host", "PostgreSQL://host",
    ])
    func `the URL of a database is refused, and no directory is made of it`(_ text: String) {
        let error = #expect(throws: StoreError.self) { try StoreLocation(text) }
        #expect(
            error
                == StoreError(
                    .invalid, "this sluice keeps its store in a directory only; it has no postgres://"))
    }

    @Test func `a store in a directory has health, maintenance, and the roles and sockets of the directory`() throws {
        let place = try TemporaryDirectory("stores")
        defer { place.remove() }
        let directory = DataDirectory(path: "\(place.path)/data")
        let missing = #expect(throws: StoreError.self) { try Stores.open(.directory(directory), create: false) }
        #expect(missing?.code == .missing)
        let opened = try Stores.open(.directory(directory), create: true, shardCount: 2)
        #expect(opened.store.shardCount == 2 && opened.maintenance?.shardCount == 2)
        #expect(opened.directory == directory)
        try opened.health.requireOriginal()
        #expect(opened.health.problems.isEmpty && opened.health.overloads.isEmpty)
        #expect(opened.health.backupTime == nil && opened.health.copyWarning() == nil)
        #expect(try opened.health.durability() == "WAL, synchronous=FULL: what is acknowledged is on disk")
        let seat = try opened.presence.takeSeat()
        #expect(directory.presence.holder(of: .worker(seat: seat.session.seat)) != nil)
        #expect(opened.endpoints.address(of: .events) == directory.endpoints.address(of: .events))
        withExtendedLifetime(seat) {}
    }
}

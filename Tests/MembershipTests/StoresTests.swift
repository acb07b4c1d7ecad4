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
                    .invalid,
                    "a data directory is a path, not a URL; give the URL of a store by --store or SLUICE_STORE"))
    }

    @Test func `the URL of a store is its location, and its name has no password`() throws {
        let directory = DataDirectory(path: "data")
        let url = "postgres://app:geheim@db1,db2:5433/queue?target_session_attrs=read-write"
        let location = try StoreLocation("data", store: url)
        #expect(location == .server(url: url, directory) && location.directory == directory && location.isServer)
        #expect(location.name == "postgres://app@db1,db2:5433/queue?target_session_attrs=read-write")
        #expect(StoreLocation.hasPassword(url) && !StoreLocation.hasPassword(location.name))
        let error = #expect(throws: StoreError.self) { try StoreLocation("data", store: "mysql://db/queue") }
        #expect(error?.code == .invalid)
        #expect(try StoreLocation("data").name == "data")
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

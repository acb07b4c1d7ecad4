import Commands
import NetworkControl
import Testing

@testable import Coordination

@Suite struct DestinationRoutesTests {
    private let number = Destination(scheme: "http", host: "8.8.8.8", port: 80)
    private let name = Destination(scheme: "https", host: "media.example.com", port: 443)
    private let near = Destination(scheme: "http", host: "localhost", port: 8080)
    private let six = Destination(scheme: "http", host: "2001:db8::77", port: 80)

    @Test func `routes to addresses are known at once, routes to names after a look-up`() throws {
        var book = DestinationRoutes()
        #expect(book.follow(adding: [number, name, near, six, .file, .none]) == ["media.example.com"])
        #expect(book.refresh() == nil, "the kernel has said nothing")
        book.table = RecordedTables.table
        #expect(book.refresh() != nil)
        #expect(book.routes == [number: .uplink(""), near: .local, six: .uplink("v0")])
        // A name that cannot be looked up is taken to be behind the main uplink.
        book.answered(["media.example.com": []])
        #expect(book.refresh() == [name: .uplink("")])
        book.answered(["media.example.com": [try #require(IPAddress("192.0.2.10"))]])
        #expect(book.refresh() != nil)
        #expect(book.routes[name] == .local)
        // A name that cannot be looked up any more keeps its addresses.
        book.answered(["media.example.com": []])
        #expect(book.refresh() == nil)
        for destination in [name, near, six, .file, .none] { book.follow(removing: destination) }
        #expect(book.refresh() == nil)
        #expect(book.routes == [number: .uplink("")])
    }

    @Test func `a process with only loopback knows nothing of the workers' network`() {
        var alone = RecordedTables.table
        alone.interfaces = alone.interfaces.filter { $0.value.name == "lo" }
        alone.entries = []
        var book = DestinationRoutes()
        _ = book.follow(adding: [number])
        book.table = alone
        #expect(book.refresh() == nil)
        // Where there was a network before, it is lost.
        book.table = RecordedTables.table
        #expect(book.refresh() != nil)
        book.table = alone
        #expect(book.refresh() != nil)
        #expect(book.lostUplinks[""] == LinkReason(.noDefaultRoute))
    }

    @Test func `another gateway of the default route is another main uplink, and a lost one stays the last`() throws {
        var book = DestinationRoutes()
        _ = book.follow(adding: [number])
        book.table = RecordedTables.table
        #expect(book.refresh() != nil)
        let first = try #require(book.mainUplink)
        var other = RecordedTables.table
        for index in other.entries.indices where other.entries[index].length == 0 {
            for hop in other.entries[index].hops.indices { other.entries[index].hops[hop].gateway = [192, 0, 2, 254] }
        }
        book.table = other
        #expect(book.refresh() != nil)
        #expect(book.mainUplink != first && book.mainUplink?.gateway == [192, 0, 2, 254])
        #expect(book.routes == [number: .uplink("")])
        other.entries.removeAll { $0.length == 0 }
        book.table = other
        #expect(book.refresh() != nil)
        #expect(book.mainUplink?.gateway == [192, 0, 2, 254] && book.lostUplinks[""] != nil)
    }

    @Test func `one address that can be reached is enough`() throws {
        var book = DestinationRoutes()
        book.table = RecordedTables.table
        _ = book.follow(adding: [name])
        let blackhole = try #require(IPAddress("203.0.113.1"))
        book.answered(["media.example.com": [blackhole, try #require(IPAddress("8.8.8.8"))]])
        #expect(book.refresh() != nil)
        #expect(book.routes[name] == .uplink(""))
        book.answered(["media.example.com": [blackhole]])
        #expect(book.refresh() != nil)
        #expect(book.routes[name] == .missing(.route(.blockedRoute, "203.0.113.1", kind: "blackhole")))
    }

    @Test func `a destination stays with its uplink while that is lost`() {
        var book = DestinationRoutes()
        book.table = RecordedTables.table
        _ = book.follow(adding: [number, six])
        #expect(book.refresh() != nil)
        book.table?.entries.removeAll { $0.length == 0 }
        #expect(book.refresh() != nil)
        #expect(book.routes == [number: .uplink(""), six: .uplink("v0")])
        #expect(book.lostUplinks[""] == LinkReason(.noDefaultRoute))
        book.table = RecordedTables.table
        #expect(book.refresh() != nil)
        #expect(book.lostUplinks[""] == nil)
        // A default route of one family does not carry the other.
        book.table?.entries.removeAll { $0.length == 0 && !$0.prefix.isV6 }
        #expect(book.refresh() != nil)
        #expect(book.routes[number] == .missing(.route(.noRoute, "8.8.8.8")))
    }

    @Test func `names are looked up elsewhere, each once at a time`() async throws {
        let (asked, ask) = AsyncStream<String>.makeStream()
        let (woken, wake) = AsyncStream<Void>.makeStream()
        let address = try #require(IPAddress("192.0.2.1"))
        let names = HostAddresses {
            ask.yield($0)
            return [address]
        } wake: {
            wake.yield()
        }
        names.want("a")
        names.want("a")
        var wakes = woken.makeAsyncIterator()
        await wakes.next()
        names.want("b")
        await wakes.next()
        #expect(names.takeAnswers() == ["a": [address], "b": [address]])
        #expect(names.takeAnswers().isEmpty)
        ask.finish()
        var all: [String] = []
        for await name in asked { all.append(name) }
        #expect(all == ["a", "b"] || all == ["a", "a", "b"], "the first may have been answered before the second")
    }

    @Test func `the system knows localhost`() {
        #expect(HostAddresses.system("localhost").contains { $0.isLoopback })
        #expect(HostAddresses.system("no.such.name.invalid").isEmpty)
    }
}

import NetworkControl
import TestSupport
import Testing

@testable import Coordination

@Suite struct RouteTableTests {
    private func route(_ table: RouteTable, _ address: String) throws -> Route {
        table.route(to: try #require(IPAddress(address)))
    }

    /// Index of `v0`, by which all packets leave.
    private func v0(_ table: RouteTable) throws -> Int32 {
        try #require(table.interfaces.first { $0.value.name == "v0" }?.key)
    }

    private func entry(
        _ prefix: String, _ length: Int, by interface: Int32, metric: UInt32 = 0, table: UInt32 = 254,
        kind: RouteTable.Kind = .unicast, gateway: [UInt8]? = nil
    ) throws -> RouteTable.Entry {
        RouteTable.Entry(
            prefix: try #require(IPAddress(prefix)), length: length, table: table, metric: metric, kind: kind,
            hops: [.init(interface: interface, gateway: gateway)])
    }

    /// Two interfaces: 1 is `eth0`, 2 is `eth1`.
    private var twoInterfaces: RouteTable {
        var table = RouteTable()
        table.interfaces = [
            1: .init(name: "eth0", isUp: true, hasCarrier: true), 2: .init(name: "eth1", isUp: true, hasCarrier: true),
        ]
        return table
    }

    @Test func `interfaces are read as the kernel describes them`() {
        let interfaces = RecordedTables.table.interfaces.values.sorted { $0.name < $1.name }
        #expect(
            interfaces == [
                .init(name: "lo", isUp: true, hasCarrier: true, isLoopback: true),
                .init(name: "v0", isUp: true, hasCarrier: true),
                .init(name: "v1", isUp: true, hasCarrier: true), .init(name: "v2", isUp: true, hasCarrier: false),
                .init(name: "v3", isUp: false, hasCarrier: false),
            ])
    }

    @Test(arguments: [
        ("127.0.0.1", Route.local), ("127.9.9.9", .local), ("::1", .local), ("::ffff:127.0.0.1", .local),
        ("192.0.2.10", .local), ("198.51.100.2", .local), ("2001:db8::10", .local),
        ("192.0.2.77", .uplink("v0")), ("2001:db8::77", .uplink("v0")),
        ("8.8.8.8", .uplink("")), ("10.1.2.3", .uplink("")), ("2001:4860:4860::8888", .uplink("")),
        // Its own network has no carrier; the default route is tried.
        ("198.51.100.77", .uplink("")),
        ("203.0.113.5", .missing(.route(.blockedRoute, "203.0.113.5", kind: "blackhole"))),
    ])
    func `the uplink of an address is found`(_ address: String, _ expected: Route) throws {
        #expect(try route(RecordedTables.table, address) == expected)
    }

    @Test func `an interface that is down or without carrier leads nowhere`() throws {
        var table = RecordedTables.table
        #expect(table.lostUplinks[""] == nil)
        #expect(table.lostUplinks["v2"] == .route(.noCarrier, "v2"))
        let index = try v0(table)
        table.interfaces[index]?.hasCarrier = false
        #expect(try route(table, "8.8.8.8") == .missing(.route(.noCarrier, "v0")))
        #expect(
            table.lostUplinks[""] == .route(.noCarrier, "v0"))
        table.interfaces[index]?.isUp = false
        #expect(try route(table, "2001:4860:4860::8888") == .missing(.route(.interfaceDown, "v0")))
    }

    @Test func `another default route takes over when the first is dead`() throws {
        var table = RecordedTables.table
        let index = try #require(table.interfaces.first { $0.value.name == "v2" }?.key)
        table.interfaces[index]?.hasCarrier = true
        for position in table.entries.indices {
            for hop in table.entries[position].hops.indices { table.entries[position].hops[hop].isDead = false }
        }
        #expect(try route(table, "8.8.8.8") == .uplink(""))
        #expect(try route(table, "198.51.100.77") == .uplink("v2"))
        table.interfaces[try v0(table)]?.isUp = false
        #expect(try route(table, "8.8.8.8") == .uplink(""), "the second is the main one now")
        #expect(table.lostUplinks[""] == nil)
    }

    @Test func `the main uplink is lost without a default route`() throws {
        var table = RecordedTables.table
        table.entries.removeAll { $0.length == 0 }
        #expect(try route(table, "8.8.8.8") == .missing(.route(.noRoute, "8.8.8.8")))
        #expect(try route(table, "192.0.2.77") == .uplink("v0"))
        #expect(table.lostUplinks[""] == LinkReason(.noDefaultRoute))
        #expect(try route(RouteTable(), "2001:db8::1") == .missing(.route(.noRoute, "2001:db8::1")))
    }

    @Test func `the longest prefix is preferred, then the lowest metric`() throws {
        var table = twoInterfaces
        table.entries = [
            try entry("0.0.0.0", 0, by: 1, metric: 5, gateway: [10, 0, 0, 1]),
            try entry("0.0.0.0", 0, by: 2, metric: 9, gateway: [10, 0, 1, 1]),
            try entry("172.16.0.0", 12, by: 2, metric: 900), try entry("172.16.5.0", 24, by: 1, metric: 1000),
            try entry("172.17.0.0", 16, by: 1, metric: 7), try entry("172.17.0.0", 16, by: 2, metric: 6),
        ]
        #expect(try route(table, "172.16.5.1") == .uplink("eth0"))
        #expect(try route(table, "172.16.6.1") == .uplink("eth1"))
        #expect(try route(table, "172.17.0.1") == .uplink("eth1"))
        #expect(try route(table, "172.32.0.1") == .uplink(""))
    }

    @Test func `a default route of the other family is the same uplink only on the same wire`() throws {
        var table = twoInterfaces
        table.entries = [
            try entry("0.0.0.0", 0, by: 1, gateway: [10, 0, 0, 1]), try entry("::", 0, by: 2, metric: 1024),
        ]
        #expect(try route(table, "8.8.8.8") == .uplink(""))
        #expect(try route(table, "2001:db8::1") == .uplink("eth1"))
        table.entries[1].hops[0].interface = 1
        #expect(try route(table, "2001:db8::1") == .uplink(""))
    }

    @Test func `tables that rules may lead to count where the main table has no route`() throws {
        var table = twoInterfaces
        table.entries = [try entry("0.0.0.0", 0, by: 2, table: 51_820)]
        #expect(try route(table, "8.8.8.8") == .uplink(""))
        table.entries.append(try entry("0.0.0.0", 0, by: 1, metric: 100))
        #expect(try route(table, "8.8.8.8") == .uplink(""), "main goes first")
        #expect(table.lostUplinks.isEmpty)
        table.entries.append(try entry("8.0.0.0", 8, by: 1, table: 7, kind: .prohibit))
        #expect(try route(table, "8.8.8.8") == .uplink(""))
    }

    @Test func `addresses are parsed`() {
        #expect(IPAddress("192.0.2.1")?.description == "192.0.2.1")
        #expect(IPAddress("[2001:DB8::1]")?.description == "2001:db8::1")
        #expect(IPAddress("::ffff:192.0.2.1") == IPAddress("192.0.2.1"))
        for text in ["", "localhost", "1.2.3", "1.2.3.4.5", "[::1", "::1%lo", "1.2.3.256"] {
            #expect(IPAddress(text) == nil, "\(text)")
        }
        #expect(IPAddress(bytes: [1, 2, 3]) == nil)
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `mutated answers do not trap`() throws {
        var random = SeededRandom.announced("route fuzz")
        let whole = [RecordedTables.links, RecordedTables.routes]
        let address = try #require(IPAddress("10.1.2.3"))
        var entries = 0
        for _ in RandomRounds("route fuzz", 2000...20_000) {
            var bytes = whole[random.number(in: 0..<2)]
            for _ in 0..<random.number(in: 0..<8) {
                bytes[random.number(in: 0..<bytes.count)] = UInt8.random(in: 0...255, using: &random)
            }
            if random.chance(0.3) { bytes.removeLast(random.number(in: 0..<bytes.count)) }
            if random.chance(0.1) { bytes = random.bytes(random.number(in: 0..<300)) }
            var conversation = NetlinkDump()
            _ = conversation.begin()
            _ = conversation.take(RecordedTables.answer(RecordedTables.links, to: 1))
            _ = conversation.take(bytes)
            _ = conversation.take(RecordedTables.answer(bytes, to: 2))
            guard let table = conversation.table else { continue }
            _ = (table.route(to: address), table.lostUplinks)
            entries += table.entries.count
        }
        #expect(entries > 0)
    }
}

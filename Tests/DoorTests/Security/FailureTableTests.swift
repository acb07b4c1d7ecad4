import Commands
import Testing

@testable import Door

struct FailureTableTests {
    private let now = Timestamp(milliseconds: 1_000_000)

    @Test func `three failures cost no time, and each further one twice as much, up to five seconds`() {
        var table = FailureTable()
        var delays: [Duration] = []
        for _ in 0..<12 {
            let (_, verdict) = table.add("a", now: now)
            guard case .delay(let delay) = verdict else { continue }
            delays.append(delay)
            if delay > .zero { table.release("a") }
        }
        #expect(
            delays == [0, 0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000].map { .milliseconds($0) }, "\(delays)"
        )
    }

    @Test func `the count is halved in each quiet minute`() {
        var table = FailureTable()
        for _ in 0..<8 {
            _ = table.add("a", now: now)
            table.release("a")
        }
        #expect(table.count(of: "a", now: now + .seconds(59)) == 8)
        #expect(table.count(of: "a", now: now + .seconds(60)) == 4)
        #expect(table.count(of: "a", now: now + .seconds(240)) == 0)
        #expect(table.count(of: "a", now: now + .seconds(-3600)) == 8)
        #expect(table.count(of: "b", now: now) == 0)
    }

    @Test func `a client with four delayed responses is refused at once, and another client is not`() {
        var table = FailureTable()
        for _ in 0..<3 { _ = table.add("a", now: now) }
        for _ in 0..<4 { #expect(table.add("a", now: now).verdict != .refuse) }
        #expect(table.add("a", now: now).verdict == .refuse)
        #expect(table.add("b", now: now).verdict == .delay(.zero))
        table.release("a")
        #expect(table.add("a", now: now).verdict != .refuse)
    }

    @Test func `the table keeps 4,096 clients, and forgets the oldest`() {
        var table = FailureTable()
        for index in 0..<5000 { _ = table.add("\(index)", now: now + .milliseconds(Int64(index))) }
        let later = now + .seconds(5)
        #expect(table.count(of: "903", now: later) == 0 && table.count(of: "904", now: later) == 1)
        #expect(table.count(of: "4999", now: later) == 1)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"), ("2001:db8::1", "20010db800000000::/64"),
        ("2001:db8:0:0:ffff::9", "20010db800000000::/64"), ("fe80::1%eth0", "fe80000000000000::/64"),
        ("unix", "unix"), ("", ""),
    ])
    func `addresses of one network are one client`(address: String, key: String) {
        #expect(ClientNetwork.key(address) == key)
    }
}

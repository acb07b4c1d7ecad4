import Commands
import Host
import Testing

@testable import NetworkControl

@Suite struct LinkTableTests {
    private let key = LinkKey(Destination(scheme: "http", host: "a", port: 80), .up)

    private var link: LinkController { LinkController(key: key, policy: NetworkPolicy(), now: .zero) }

    @Test func `a copy of the table keeps the links as they were`() {
        var table = LinkTable()
        table[key] = link
        let copy = table
        table[key]?.hasAnswered = true
        #expect(table[key]?.hasAnswered == true && copy[key]?.hasAnswered == false)
        table[key] = nil
        #expect(table.isEmpty && copy.count == 1 && copy.keys == [key])
    }

    @Test func `a change of an absent link adds none`() {
        var table = LinkTable()
        table[key]?.hasAnswered = true
        #expect(table.isEmpty && table[key] == nil && table.removeValue(forKey: key) == nil)
        table[key] = link
        #expect(table.removeValue(forKey: key)?.key == key && table.isEmpty)
    }
}

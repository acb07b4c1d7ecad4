import Door
import HTTPTypes
import Testing

struct HostCheckTests {
    private let check = HostCheck(names: ["Door.example", "192.0.2.7", "2001:db8::1"])

    @Test(arguments: [
        "localhost", "LOCALHOST:8080", "127.0.0.1:80", "[::1]:8080", "door.example", "door.example:443", "192.0.2.7",
        "[2001:db8::1]:1", "198.51.100.9:8080",
    ])
    func `a configured name passes with any port`(_ host: String) {
        #expect(throws: Never.self) { try check.check(host, localAddress: "198.51.100.9") }
    }

    @Test(arguments: [
        "evil.example", "x.door.example", "door.example.evil", "evildoor.example", "localhost.", "127.0.0.2",
        "0.0.0.0", "[::]",
    ])
    func `another name is misdirected`(_ host: String) {
        let problem = #expect(throws: Problem.self) { try check.check(host, localAddress: nil) }
        #expect(problem?.status == .misdirectedRequest)
    }

    @Test(arguments: [
        "", ":80", "a b", "localhost:", "localhost:x", "localhost:99999", "user@localhost", "[::1", "[::1]x",
    ])
    func `a text that is not a host is a bad request`(_ host: String) {
        let problem = #expect(throws: Problem.self) { try check.check(host, localAddress: nil) }
        #expect(problem?.status == .badRequest)
    }
}

import Commands
import Console
import Testing

struct CommandJSONTests {
    @Test func `a command in JSON has every key, also without values`() throws {
        let command = Command(
            id: CommandID(), type: "noop", destination: .none, createdAt: Timestamp(milliseconds: 1))
        let json = command.json
        for name in [
            "destination", "notBefore", "deadline", "uniqueKey", "uniqueFor", "orderingKey", "worker", "reason",
        ] {
            #expect(json[name] == .null, "\(name)")
        }
        #expect(json["status"] == "new")
        #expect(json["createdAt"] == "1970-01-01T00:00:00.001Z")
    }

    @Test func `stored bytes that are not JSON become a string`() {
        #expect(JSONValue(stored: Array("{\"a\":1}".utf8)) == ["a": 1])
        #expect(JSONValue(stored: Array("not JSON".utf8)) == "not JSON")
    }
}

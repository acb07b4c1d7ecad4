import Commands
import Testing

@Suite struct CommandTargetTests {
    private func target(_ payload: String) -> CommandTarget? { CommandTarget(payload: Array(payload.utf8)) }

    @Test func `commands for one URL have one target, whatever else their payloads say`() throws {
        let one = try #require(target(#"{"file":"/a","to":"http://a/x"}"#))
        #expect(target(#"{"to":"http:\/\/a/x","file":"/b","method":"POST"}"#) == one)
        let others = [
            #"{"to":"http://a/y"}"#, #"{"url":"http://a/x","to":"http://a"}"#, #"{"file":"/a","to":"http://a/x/"}"#,
            #"{"file":"/b","to":"http://a/x/"}"#, #"{"endpoint":"http://a","bucket":"b","key":"k"}"#,
            #"{"endpoint":"http://a","bucket":"bk","key":""}"#,
        ]
        #expect(Set(others.map { target($0) } + [one]).count == others.count + 1)
    }

    @Test(arguments: ["", "{}", "[]", "\"to\"", #"{"to":5}"#, "\u{0}", "{"])
    func `a payload without a URL has no target`(_ payload: String) {
        #expect(target(payload) == nil)
    }
}

import Commands
import Testing

@Suite struct CommandIDPartTests {
    @Test func `a part is read without dashes and ellipsis, in either case`() {
        #expect(CommandIDPart("…3B6a1c2d")?.digits == "3b6a1c2d")
        #expect(CommandIDPart("...3b6a")?.digits == "3b6a")
        #expect(CommandIDPart("7d2e-9f00")?.digits == "7d2e9f00")
        for text in ["", "3b6", "3b6g", "3b6a 1c2d", "xyz", String(repeating: "a", count: 33), "…"] {
            #expect(CommandIDPart(text) == nil, "\(text)")
        }
    }

    @Test func `a whole id is an id, and its ends bound and name it`() throws {
        let id = CommandID()
        #expect(CommandIDPart(id).id == id)
        #expect(CommandIDPart("\(id)")?.description == "\(id)")
        let beginning = try #require(CommandIDPart("0199ab"))
        #expect(beginning.id == nil)
        #expect(beginning.smallest.description == "0199ab00-0000-0000-0000-000000000000")
        #expect(beginning.greatest.description == "0199abff-ffff-ffff-ffff-ffffffffffff")
        let end = try #require(CommandIDPart("a1c2d4e5f"))
        #expect(end.lastByte == 0x5F && end.lastBytes == [0x1C, 0x2D, 0x4E, 0x5F])
    }

    @Test func `the subject of a payload is its file, else its URL`() {
        func subject(_ text: String) -> CommandSubject? { CommandSubject(payload: Array(text.utf8)) }
        let upload = subject(#"{"to": "https://host/in/", "file": "/srv/a b/clip.mov"}"#)
        #expect(upload?.title == "/srv/a b/clip.mov" && upload?.name == "clip.mov")
        #expect(upload?.contains("host/in") == true && upload?.contains("/a b/") == true)
        #expect(upload?.contains("CLIP") == false)
        #expect(subject(#"{"url": "https://host/q/latest.json?x=/y"}"#)?.name == "/q/latest.json")
        #expect(subject(#"{"url": "https://host/"}"#)?.name == "https://host/")
        #expect(subject(#"{"milliseconds": 1}"#) == nil && subject("no JSON") == nil)
    }
}
